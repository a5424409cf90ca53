// SPDX-License-Identifier: GPL-2.0
/*
 * Files in transactions.
 *
 * The daemon has no descriptor of a client's file: FUSE asks a file's server at each close(2), also
 * at the exit of a killed process, so a hostile server could keep the daemon from ending. The files
 * are in the helper process (helper.h), and the daemon has their numbers there.
 *
 * A thread has at most one job of the injector at a time. What the job does is collected in the
 * thread's struct pending_files: files to install for one transaction, numbers to close. Meanwhile
 * the job's callbacks own the call: on_armed() replies to it, on_done() records the result. The
 * helper sends the event of the end before the receiver goes on, so a worker that gets the
 * receiver's next call finds it among the events, if it was not handled yet. The job has a
 * reference to the thread from its submission to its end.
 */
#include "fds/fds.h"

#include "base/daemon_state.h"
#include "base/libc.h"
#include "calls/client_call.h"
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/pool.h"
#include "clients/client_thread.h"
#include "clients/users.h"
#include "core.h"
#include "fds/file_ref.h"
#include "fds/file_job.h"
#include "fds/helper.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers that one job closes at most; further ones stay open in the client. */
#define CLOSES_MAX HELPER_CLOSES_MAX

enum install_state {
	INSTALL_NONE,
	INSTALL_WANTED,		/* requested by the engine */
	INSTALL_DONE,		/* finished, or failed with @error */
};

struct pending_files {
	enum install_state state;
	u64 cookie;
	u32 nr;
	struct host_file **files;	/* a reference to each */
	s32 *numbers;		/* in the receiver */
	int error;
	u32 nr_close;
	s32 *closes;
	int result;		/* of the call */
	bool installing;	/* by the present job */
	atomic_bool has_job;
};

static const struct helper_handlers helper_handlers;
struct fds {
	void (*not_held)(u64 open_id);
};

bool fds_init(void (*not_held)(u64 open_id))
{
	file_refs_init();
	file_jobs_init();
	daemon_part(fds)->not_held = not_held;
	return helper_start(&helper_handlers);
}

bool fds_take_over(void (*not_held)(u64 open_id), const struct helper_state *helper)
{
	file_refs_init();
	file_jobs_init();
	daemon_part(fds)->not_held = not_held;
	return helper_take_over(&helper_handlers, helper);
}

/* It is not the opener's if another process has inherited the descriptor of the device. */
static s32 process_of(const struct host_thread *thread)
{
	s32 pid = thread->proc->pid;

	return client_thread_is_of(thread->tid, pid) ? pid : client_thread_process(thread->tid);
}

static int take_file(struct host_thread *caller, u32 fd, struct helper_answer *answer)
{
	struct helper_message message = { .op = HELPER_TAKE, .uid = caller->proc->charged_uid,
					  .fd = (s32)fd };
	int pidfd = open_pidfd(process_of(caller), caller->tid);
	int error;

	if (pidfd < 0)
		return pidfd;
	error = helper_ask(&message, pidfd, caller->proc->open_id, answer);
	close(pidfd);
	if (!error && answer->result < 0)
		error = answer->result;
	return error;
}

int fds_get(struct host_thread *caller, u32 fd, struct host_file **file)
{
	u32 uid = caller->proc->charged_uid;
	struct helper_answer taken;
	int error;

	if (!user_charges_add(uid, USER_FILES))
		return -EMFILE;
	*file = calloc(1, sizeof(**file));
	error = *file ? take_file(caller, fd, &taken) : -ENOMEM;
	if (error) {
		user_charges_remove(uid, USER_FILES);
		free(*file);
		*file = NULL;
		return error;
	}
	(*file)->id = file_ref_new_id();
	(*file)->fd = taken.result;
	(*file)->generation = taken.generation;
	(*file)->uid = uid;
	atomic_init(&(*file)->refs, 1);
	return 0;
}

void fds_put(struct host_file *file)
{
	file_ref_put(file);
}

static struct pending_files *get_pending(struct host_thread *thread)
{
	if (!thread->files)
		thread->files = calloc(1, sizeof(*thread->files));
	return thread->files;
}

/* Drops the files to install, but not the numbers to close. */
static void clear_install(struct pending_files *pending)
{
	for (u32 i = 0; pending->files && i < pending->nr; i++)
		file_ref_put(pending->files[i]);
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
		fds_close(thread, (const u32 *)pending->numbers, pending->nr);
	clear_install(pending);
}

static int prepare_install(struct pending_files *pending, u64 cookie, struct host_file **files,
			   u32 nr)
{
	if (nr > HELPER_INSTALLS_MAX)
		return -EMFILE;
	pending->files = malloc(nr * sizeof(struct host_file *));
	pending->numbers = malloc(nr * sizeof(s32));
	pending->nr = pending->files ? nr : 0;
	pending->cookie = cookie;
	pending->error = 0;
	for (u32 i = 0; i < pending->nr; i++)
		pending->files[i] = file_ref_get(files[i]);
	if (!pending->files || !pending->numbers) {
		clear_install(pending);
		return -ENOMEM;
	}
	pending->state = INSTALL_WANTED;
	return HOST_FDS_LATER;
}

int fds_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		u32 *fds)
{
	struct pending_files *pending = get_pending(receiver);
	int error;

	if (!pending)
		return -ENOMEM;
	if (pending->state == INSTALL_DONE && pending->cookie == cookie) {
		error = pending->error;
		if (!error)
			memcpy(fds, pending->numbers, nr * sizeof(*fds));
		clear_install(pending);
		return error;
	}
	drop_installed(receiver);
	if (user_charges_is_over(receiver->proc->charged_uid, USER_STALLED))
		return -EBUSY;
	return prepare_install(pending, cookie, files, nr);
}

void fds_close(struct host_thread *owner, const u32 *fds, u32 nr)
{
	struct pending_files *pending = get_pending(owner);
	int *closes;

	if (!nr || !pending || pending->nr_close + nr > CLOSES_MAX)
		return;
	closes = realloc(pending->closes, (pending->nr_close + nr) * sizeof(*closes));
	if (!closes)
		return;
	memcpy(closes + pending->nr_close, fds, nr * sizeof(*closes));
	pending->closes = closes;
	pending->nr_close += nr;
}

static void end_job(struct host_thread *thread, int error)
{
	struct pending_files *pending = thread->files;

	pending->nr_close = 0;
	free(pending->closes);
	pending->closes = NULL;
	if (pending->installing) {
		pending->state = INSTALL_DONE;
		pending->error = error;
	}
	atomic_store(&pending->has_job, false);
	call_put_thread(thread);
}

/*
 * The callbacks run mostly in the events thread of the helper, which must not be blocked by a
 * client's memory. A reply may drop the last use of an open, whose release wakes other threads:
 * their calls, and those to be resumed, are handed over to a worker after each event.
 */
static void on_armed(struct host_thread *thread, int error)
{
	struct pending_files *pending = thread->files;
	bool resume = error && pending->installing;
	int result = pending->result;

	if (error)
		end_job(thread, error);	/* on_done() will not be called */
	if (resume)
		worker_push_woken(thread);
	else
		call_reply(thread, result == BINDER_RESTART ? 0 : result);
}

static void on_done(struct host_thread *thread, int error, const s32 *numbers)
{
	struct pending_files *pending = thread->files;

	if (!error && pending->installing)
		memcpy(pending->numbers, numbers, pending->nr * sizeof(*numbers));
	end_job(thread, error);
}

bool fds_start(struct host_thread *thread, int result)
{
	struct pending_files *pending = thread->files;
	bool install = pending && pending->state == INSTALL_WANTED && result == BINDER_RESTART;
	struct file_job job;

	if (!pending || (!install && !pending->nr_close))
		return false;
	job = (struct file_job){
		.thread = thread,
		.uid = thread->proc->charged_uid,
		.tid = thread->tid,
		.tgid = process_of(thread),
		.nr_close = pending->nr_close,
		.closes = pending->closes,
		.armed = on_armed,
		.done = on_done,
	};
	if (install) {
		job.nr = pending->nr;
		job.files = pending->files;
		pending->files = NULL;
	}
	pending->result = result;
	pending->installing = install;
	atomic_store(&pending->has_job, true);
	binder_thread_get(binder_thread_of_host(thread));
	park_register(thread);
	file_job_submit(&job);
	return true;
}

void fds_settle(const struct host_thread *thread)
{
	if (thread->files && atomic_load(&thread->files->has_job))
		helper_receive();
}

void fds_free_pending(struct host_thread *thread)
{
	struct pending_files *pending = thread->files;

	if (!pending)
		return;
	clear_install(pending);
	free(pending->closes);
	free(pending);
	thread->files = NULL;
}

static void on_event(const struct helper_event *event)
{
	if (event->kind == HELPER_CLOSED && event->id)
		file_ref_closed(event->id);
	else if (event->kind == HELPER_UNHELD)
		daemon_self->fds->not_held(event->id);
	else if (event->kind == HELPER_ARMED || event->kind == HELPER_DONE)
		file_job_event(event);
	pool_hand_over(worker_self);
}

static void on_lost(void)
{
	file_job_lost_all();
	file_ref_lost_all();
	pool_hand_over(worker_self);
}

static bool on_tick(void)
{
	bool jobs = file_job_check_overdue();

	pool_hand_over(worker_self);
	return file_ref_check_overdue() || jobs;
}

static bool may_delay(u64 open_id)
{
	return !pool_has_stuck() || open_file_may_delay(open_id);
}

static const struct helper_handlers helper_handlers = {
	.event = on_event,
	.lost = on_lost,
	.tick = on_tick,
	.waits_long = pool_replace_self,
	.may_delay = may_delay,
};

/* ---- handing over ---- */

bool fds_save(const struct host_thread *thread, struct fds_state *state)
{
	const struct pending_files *pending = thread->files;

	if (!pending)
		return false;
	*state = (struct fds_state){
		.state = pending->state,
		.cookie = pending->cookie,
		.nr = pending->nr,
		.files = pending->files,
		.numbers = pending->numbers,
		.error = pending->error,
		.nr_close = pending->nr_close,
		.closes = pending->closes,
		.result = pending->result,
		.installing = pending->installing,
	};
	return true;
}

static void *copy_array(const void *array, size_t size, bool *ok)
{
	void *copy = array && size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, array, size);
	*ok &= copy || !array || !size;
	return copy;
}

bool fds_restore(struct host_thread *thread, const struct fds_state *state)
{
	struct pending_files *pending = get_pending(thread);
	bool ok = pending;

	if (!pending)
		return false;
	pending->state = state->state;
	pending->cookie = state->cookie;
	pending->nr = state->nr;
	pending->files = copy_array(state->files, state->nr * sizeof(*state->files), &ok);
	pending->numbers = copy_array(state->numbers, state->nr * sizeof(s32), &ok);
	pending->error = state->error;
	pending->nr_close = state->nr_close;
	pending->closes = copy_array(state->closes, state->nr_close * sizeof(s32), &ok);
	pending->result = state->result;
	pending->installing = state->installing;
	return ok;
}

void fds_restore_job(struct file_job *job)
{
	job->armed = on_armed;
	job->done = on_done;
	if (job->thread && get_pending(job->thread))
		atomic_store(&job->thread->files->has_job, true);
}
