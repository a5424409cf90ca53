// SPDX-License-Identifier: GPL-2.0
/*
 * Files in transactions.
 *
 * A thread has at most one job of the injector at a time. What the job does is collected in the
 * thread's struct pending_files: files to install for one transaction, numbers to close. Meanwhile
 * the injector's callbacks own the call: on_armed() replies to it, on_done() records the result.
 * The job has a reference to the thread from its submission to its end.
 */
#include "files.h"

#include "call.h"
#include "caller.h"
#include "core.h"
#include "inject.h"
#include "log.h"
#include "park.h"
#include "pool.h"
#include "users.h"
#include "worker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers that one job closes at most; further ones stay open in the client. */
#define CLOSES_MAX 4096u

enum install_state {
	INSTALL_NONE,
	INSTALL_WANTED,		/* requested by the engine */
	INSTALL_DONE,		/* finished, or failed with @error */
};

struct pending_files {
	struct inject_job job;
	struct host_thread *thread;
	enum install_state state;
	u64 cookie;
	u32 nr;
	int *files;		/* the daemon's duplicates */
	int *numbers;		/* in the receiver */
	int error;
	u32 nr_close;
	int *closes;
	int result;		/* of the call */
};

static struct injector *injector;

void files_init(void)
{
	int error = inject_start(&injector);

	if (error) {
		injector = NULL;
		log_warn("files cannot be passed on this machine: %s", strerror(-error));
	}
}

static int take_file(struct host_thread *caller, u32 fd)
{
	int pidfd = caller->proc->pidfd;
	int taken;

	/* another process may have inherited the descriptor of the device */
	if (pidfd < 0 || !caller_is_thread_of(caller->tid, caller->proc->pid))
		pidfd = (int)syscall(SYS_pidfd_open, caller_process_of(caller->tid), 0);
	if (pidfd < 0)
		return -errno;
	taken = (int)syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0);
	if (taken < 0)
		taken = -errno;
	if (pidfd != caller->proc->pidfd)
		close(pidfd);
	return taken;
}

int files_get(struct host_thread *caller, u32 fd, struct host_file **file)
{
	u32 uid = caller->proc->charged_uid;
	int taken;

	if (!users_charge(uid, USER_FILES))
		return -EMFILE;
	*file = malloc(sizeof(**file));
	taken = *file ? take_file(caller, fd) : -ENOMEM;
	if (taken < 0) {
		users_discharge(uid, USER_FILES);
		free(*file);
		*file = NULL;
		return taken;
	}
	(*file)->fd = taken;
	(*file)->uid = uid;
	return 0;
}

void files_put(struct host_file *file)
{
	users_discharge(file->uid, USER_FILES);
	close(file->fd);
	free(file);
}

static struct pending_files *get_pending(struct host_thread *thread)
{
	if (!thread->files) {
		thread->files = calloc(1, sizeof(*thread->files));
		if (thread->files)
			thread->files->thread = thread;
	}
	return thread->files;
}

/* Drops the files to install, but not the numbers to close. */
static void clear_install(struct pending_files *pending)
{
	for (u32 i = 0; pending->files && i < pending->nr; i++)
		if (pending->files[i] >= 0)
			close(pending->files[i]);
	free(pending->files);
	free(pending->numbers);
	pending->files = NULL;
	pending->numbers = NULL;
	pending->nr = 0;
	pending->state = INSTALL_NONE;
}

/* The transaction for which files were installed no longer exists: has them closed. */
static void drop_installed(struct host_thread *thread)
{
	struct pending_files *pending = thread->files;

	if (pending->state == INSTALL_DONE && !pending->error)
		files_close(thread, (const u32 *)pending->numbers, pending->nr);
	clear_install(pending);
}

static int prepare_install(struct pending_files *pending, u64 cookie, struct host_file **files,
			   u32 nr)
{
	pending->files = malloc(nr * sizeof(int));
	pending->numbers = malloc(nr * sizeof(int));
	pending->nr = nr;
	pending->cookie = cookie;
	pending->error = 0;
	if (!pending->files || !pending->numbers) {
		pending->nr = 0;
		clear_install(pending);
		return -ENOMEM;
	}
	memset(pending->files, 0xff, nr * sizeof(int));
	for (u32 i = 0; i < nr; i++) {
		pending->files[i] = fcntl(files[i]->fd, F_DUPFD_CLOEXEC, 3);
		if (pending->files[i] < 0) {
			clear_install(pending);
			return -EMFILE;
		}
	}
	pending->state = INSTALL_WANTED;
	return HOST_FDS_LATER;
}

int files_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		  u32 *fds)
{
	struct pending_files *pending = get_pending(receiver);
	int error;

	if (!pending)
		return -ENOMEM;
	if (!injector)
		return -EPERM;
	if (pending->state == INSTALL_DONE && pending->cookie == cookie) {
		error = pending->error;
		if (!error)
			memcpy(fds, pending->numbers, nr * sizeof(*fds));
		clear_install(pending);
		return error;
	}
	drop_installed(receiver);
	return prepare_install(pending, cookie, files, nr);
}

void files_close(struct host_thread *owner, const u32 *fds, u32 nr)
{
	struct pending_files *pending = get_pending(owner);
	int *closes;

	if (!nr || !pending || !injector || pending->nr_close + nr > CLOSES_MAX)
		return;
	closes = realloc(pending->closes, (pending->nr_close + nr) * sizeof(*closes));
	if (!closes)
		return;
	memcpy(closes + pending->nr_close, fds, nr * sizeof(*closes));
	pending->closes = closes;
	pending->nr_close += nr;
}

static void end_job(struct pending_files *pending, int error)
{
	struct binder_thread *thread = binder_thread_of_host(pending->thread);

	pending->nr_close = 0;
	free(pending->closes);
	pending->closes = NULL;
	if (pending->state == INSTALL_WANTED) {
		pending->state = INSTALL_DONE;
		pending->error = error;
	}
	binder_thread_put(thread);
}

/*
 * The callbacks run in the injector's thread, which must not be blocked by a client's memory. A
 * reply may drop the last use of an open, whose release wakes other threads: their calls, and those
 * to be resumed, are handed over to a worker.
 */
static struct worker injector_worker;

static void on_armed(struct inject_job *job, int error)
{
	struct pending_files *pending = base_container_of(job, struct pending_files, job);
	struct host_thread *thread = pending->thread;
	bool resume = error && pending->state == INSTALL_WANTED;
	int result = pending->result;

	worker_set_self(&injector_worker);
	if (error)
		end_job(pending, error);	/* done() will not be called */
	if (resume)
		worker_push_woken(thread);
	else
		call_reply(thread, result == BINDER_RESTART ? 0 : result);
	pool_hand_over(&injector_worker);
}

static void on_done(struct inject_job *job, int error)
{
	worker_set_self(&injector_worker);
	end_job(base_container_of(job, struct pending_files, job), error);
	pool_hand_over(&injector_worker);
}

bool files_start(struct host_thread *thread, int result)
{
	struct pending_files *pending = thread->files;
	bool install = pending && pending->state == INSTALL_WANTED && result == BINDER_RESTART;

	if (!pending || (!install && !pending->nr_close))
		return false;
	pending->result = result;
	pending->job = (struct inject_job){
		.tid = thread->tid,
		.tgid = caller_process_of(thread->tid),
		.nr_install = install ? (int)pending->nr : 0,
		.files = pending->files,
		.result_fds = pending->numbers,
		.nr_close = (int)pending->nr_close,
		.closes = pending->closes,
		.restart = install,
		.armed = on_armed,
		.done = on_done,
	};
	binder_thread_get(binder_thread_of_host(thread));
	park_register(thread);
	inject_submit(injector, &pending->job);
	return true;
}

void files_free_pending(struct host_thread *thread)
{
	struct pending_files *pending = thread->files;

	if (!pending)
		return;
	clear_install(pending);
	free(pending->closes);
	free(pending);
	thread->files = NULL;
}
