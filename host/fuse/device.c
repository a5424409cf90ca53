// SPDX-License-Identifier: GPL-2.0
/*
 * Binder devices.
 *
 * An ioctl becomes a call into the engine; if the engine has nothing for it the call is parked and
 * the worker goes back to read the next request. Whoever later queues work for that thread
 * finishes the call here: resume it in the engine, answer it.
 *
 * The life of an open is counted twice. `calls` counts what is under way in the engine: at zero
 * the engine lets go of the process. `refs` counts who may still name the structure: the kernel
 * does until its RELEASE, even when the open was ended before because its owner is dead.
 */
#include "device.h"

#include "caller.h"
#include "core.h"
#include "files.h"
#include "layout.h"
#include "log.h"
#include "map.h"
#include "park.h"
#include "reap.h"
#include "users.h"
#include "watch.h"
#include "worker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 1024u

/* Workers that one open may hold up before its further calls are refused. */
#define STUCK_MAX 8

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct binder_file *buckets[BUCKETS];

static struct binder_file **find_locked(u64 nodeid)
{
	struct binder_file **slot = &buckets[nodeid % BUCKETS];

	while (*slot && (*slot)->nodeid != nodeid)
		slot = &(*slot)->next;
	return slot;
}

static void list_file(struct binder_file *file)
{
	pthread_mutex_lock(&files_lock);
	file->next = buckets[file->nodeid % BUCKETS];
	buckets[file->nodeid % BUCKETS] = file;
	file->listed = true;
	pthread_mutex_unlock(&files_lock);
}

static void unlist_file(struct binder_file *file)
{
	pthread_mutex_lock(&files_lock);
	if (file->listed)
		*find_locked(file->nodeid) = file->next;
	file->listed = false;
	pthread_mutex_unlock(&files_lock);
}

static void put_file(struct binder_file *file)
{
	if (atomic_fetch_sub(&file->refs, 1) == 1)
		free(file);
}

/* A call is over, or the open is. The last one out tells the engine. */
static void leave(struct binder_file *file)
{
	if (atomic_fetch_sub(&file->calls, 1) != 1)
		return;
	binder_release(file->proc);
	users_discharge(file->uid, USER_OPENS);
	put_file(file);
}

/* A call begins. False: the open is over. */
static bool enter(struct binder_file *file)
{
	atomic_fetch_add(&file->calls, 1);
	if (!atomic_load(&file->ending))
		return true;
	leave(file);
	return false;
}

static void end_open(struct binder_file *file)
{
	struct host_thread *thread;

	if (atomic_exchange(&file->ending, true))
		return;
	unlist_file(file);
	layout_proc_closed(file->host->pid);
	watch_remove(file->host->pidfd);
	atomic_store(&file->host->gone, true);
	atomic_store(&file->host->ended, true);
	while (atomic_load(&file->calls) > 1 && (thread = park_next_of(file->host)))
		device_answer(thread, -EBADF);
	leave(file);
}

static int make_file(const struct request *request, struct binder_context *context,
		     struct host_proc *opener, struct binder_file **out)
{
	const struct fuse_open_in *in = request->body;
	struct binder_file *file = calloc(1, sizeof(*file));
	int error;

	if (!file)
		return -ENOMEM;
	file->nodeid = request->head->nodeid;
	file->uid = request->head->uid;
	file->nonblock = in->flags & O_NONBLOCK;
	atomic_init(&file->calls, 1);
	atomic_init(&file->refs, 2);
	opener->nodeid = file->nodeid;
	opener->file = file;
	error = binder_open(context, opener, &file->proc);
	if (error) {
		free(file);
		return error;
	}
	file->host = binder_proc_host(file->proc);
	list_file(file);
	layout_proc_opened(file->host->pid);
	watch_add(file->host->pidfd, file->nodeid);
	*out = file;
	return 0;
}

static int open_charged(const struct request *request, struct binder_context *context,
			struct binder_file **file)
{
	struct host_proc opener = { .pidfd = -1 };
	int error = caller_identify((pid_t)request->head->pid, &opener);

	if (!error)
		error = make_file(request, context, &opener, file);
	if (error)
		caller_forget(&opener);
	return error;
}

void device_open(const struct request *request, struct binder_context *context)
{
	struct abi_open_out out = { .open_flags = FOPEN_DIRECT_IO };
	struct binder_file *file;
	int error;

	if (!users_charge(request->head->uid, USER_OPENS)) {
		session_reply_error(request->head->unique, EMFILE);
		return;
	}
	error = open_charged(request, context, &file);
	if (error) {
		users_discharge(request->head->uid, USER_OPENS);
		session_reply_error(request->head->unique, -error);
		return;
	}
	out.fh = (uintptr_t)file | 1;
	if (binder_proc_map(file->proc)->backing_id >= 0) {
		out.open_flags |= FOPEN_PASSTHROUGH;
		out.backing_id = binder_proc_map(file->proc)->backing_id;
	}
	session_reply(request->head->unique, &out, sizeof(out));
}

void device_answer(struct host_thread *thread, int result)
{
	struct binder_thread *binder_thread = binder_thread_of_host(thread);
	struct binder_file *file = thread->proc->file;
	u64 unique = thread->unique;
	u32 out_size = thread->out_size;
	char data[HOST_ARG_SIZE];

	/* what failed gives nothing back, save how far a write and read got */
	if (result < 0 && ABI_IOC_NR(thread->cmd) != ABI_IOC_NR(BINDER_WRITE_READ))
		out_size = 0;
	if (thread->deadline_ns)
		watch_deadline_over();
	__builtin_memcpy(data, thread->arg, sizeof(data));
	park_end(thread);
	session_reply_ioctl(unique, result, data, out_size);
	binder_thread_put(binder_thread);
	leave(file);
}

static void finish_one_woken(void);

/*
 * Takes a call as far as it gets: parked, answered, or waiting for files to be passed.
 * @own: it is the call of the request that the worker has read.
 */
static void settle(struct host_thread *thread, int result, bool own)
{
	struct binder_thread *binder_thread = binder_thread_of_host(thread);

	while (result == BINDER_WOULD_BLOCK) {
		u32 timeout_ms = binder_thread_wait_timeout_ms(binder_thread);
		enum park_result parked;

		if (timeout_ms && !thread->deadline_ns) {
			thread->deadline_ns = host_now_ns() + timeout_ms * 1000000ull;
			watch_deadline(thread->deadline_ns);
		}
		parked = park_wait(thread);
		if (parked == PARK_DONE)
			return;
		if (parked == PARK_REFUSED) {
			device_answer(thread, -EBADF);
			return;
		}
		result = binder_resume(binder_thread, thread->cmd, thread->arg,
				       parked == PARK_INTERRUPTED ? RESUME_INTERRUPTED
								  : RESUME_WOKEN);
	}
	if (files_start(thread, result))
		return;
	/*
	 * Whoever waits for what this call brought has waited longer than its caller, and goes
	 * first; but only one, and without making the caller wait for that one's memory.
	 */
	if (own && park_has_woken()) {
		worker_put_off_answer(thread, result);
		finish_one_woken();
		if (!worker_take_answer())
			return;
	}
	device_answer(thread, result);
}

/* Has this client, or its user, got so many workers stuck that no more are risked? */
static bool is_overdrawn(const struct binder_file *file)
{
	return atomic_load(&file->stuck) >= STUCK_MAX || users_is_over(file->uid, USER_STUCK);
}

void device_resume(struct host_thread *thread, int why)
{
	/* its work stays queued; only its memory is not risked any more */
	if (worker_any_stuck() && is_overdrawn(thread->proc->file)) {
		device_answer(thread, -EFAULT);
		return;
	}
	worker_begin_step(thread);
	settle(thread,
	       binder_resume(binder_thread_of_host(thread), thread->cmd, thread->arg,
			     (enum binder_resume_reason)why),
	       false);
}

static void finish_one_woken(void)
{
	struct host_thread *thread = park_next_woken();
	bool late;

	if (!thread)
		return;
	late = thread->deadline_ns && thread->deadline_ns <= host_now_ns();
	device_resume(thread, late ? RESUME_TIMED_OUT : RESUME_WOKEN);
}

void device_finish_woken(void)
{
	park_notify_polled();
	while (park_has_woken()) {
		finish_one_woken();
		park_notify_polled();
	}
}

/* Checks what the kernel handed over and finds the calling thread. Returns 0 or -errno. */
static int begin_call(const struct request *request, struct binder_file *file,
		      struct binder_thread **thread)
{
	s32 tid = (s32)request->head->pid;

	if (tid <= 0)
		return -EACCES;	/* not in a pid namespace that we see: its memory is out of reach */
	if (worker_any_stuck() && is_overdrawn(file))
		return -EFAULT;
	if (!enter(file))
		return -EBADF;
	*thread = binder_thread_find_or_new(file->proc, tid, &tid);
	if (!*thread) {
		leave(file);
		return -ENOMEM;
	}
	if (!binder_thread_host(*thread)->unique)	/* it calls for the first time */
		reap_ended_threads(file->proc, &file->reap_at);
	return 0;
}

void device_ioctl(const struct request *request)
{
	const struct fuse_ioctl_in *in = request->body;
	struct binder_file *file = device_of_handle(in->fh);
	struct binder_thread *binder_thread;
	struct host_thread *thread;
	int error = -EINVAL;

	if (in->in_size <= HOST_ARG_SIZE && in->out_size <= HOST_ARG_SIZE &&
	    request->body_size >= sizeof(*in) + in->in_size)
		error = begin_call(request, file, &binder_thread);
	if (error) {
		session_reply_ioctl(request->head->unique, error, NULL, 0);
		return;
	}
	thread = binder_thread_host(binder_thread);
	if (!park_begin(thread)) {
		session_reply_ioctl(request->head->unique, -EBUSY, NULL, 0);
		binder_thread_put(binder_thread);
		leave(file);
		return;
	}
	thread->unique = request->head->unique;
	thread->euid = request->head->uid;
	thread->cmd = in->cmd;
	thread->out_size = in->out_size;
	__builtin_memcpy(thread->arg, in + 1, in->in_size);
	__builtin_memset(thread->arg + in->in_size, 0, HOST_ARG_SIZE - in->in_size);
	worker_begin_step(thread);
	settle(thread, binder_ioctl(binder_thread, in->cmd, thread->arg, file->nonblock), true);
}

void device_poll(const struct request *request)
{
	const struct fuse_poll_in *in = request->body;
	struct binder_file *file = device_of_handle(in->fh);
	struct fuse_poll_out out = { 0 };
	struct binder_thread *thread;
	int error = begin_call(request, file, &thread);

	if (error) {
		out.revents = POLLERR;
	} else {
		/* first arm, then look: what comes in between is told twice, not never */
		if (in->flags & FUSE_POLL_SCHEDULE_NOTIFY) {
			atomic_store(&file->host->poll_handle, in->kh);
			atomic_store(&file->host->poll_armed, true);
		}
		if (binder_poll(thread))
			out.revents = POLLIN;
		binder_thread_put(thread);
	}
	session_reply(request->head->unique, &out, sizeof(out));
	if (!error)
		leave(file);
}

/*
 * Without passthrough the kernel reads pages of the buffer that the client touches. A read(2),
 * which the stock driver refuses, comes here too, but names an owner of locks, which a page fault
 * has not.
 */
void device_read(const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	struct binder_file *file = device_of_handle(in->fh);
	size_t off = in->offset < MAP_SIZE ? in->offset : MAP_SIZE;
	size_t size = in->size < MAP_SIZE - off ? in->size : MAP_SIZE - off;
	const struct host_map *map;

	if ((in->read_flags & FUSE_READ_LOCKOWNER) || !enter(file)) {
		session_reply_error(request->head->unique, EINVAL);
		return;
	}
	map = binder_proc_map(file->proc);
	if (map->backing_id >= 0)
		session_reply_error(request->head->unique, EINVAL);
	else
		session_reply(request->head->unique, map->memory + off, size);
	leave(file);
}

void device_flush(const struct request *request)
{
	const struct fuse_flush_in *in = request->body;
	struct binder_file *file = device_of_handle(in->fh);

	if (enter(file)) {
		binder_flush(file->proc);
		if (atomic_load(&file->orphan))
			watch_check_holders(file->nodeid);
		leave(file);
	}
	session_reply_error(request->head->unique, 0);
}

void device_release(const struct request *request)
{
	const struct fuse_release_in *in = request->body;
	struct binder_file *file = device_of_handle(in->fh);

	end_open(file);
	put_file(file);
	session_reply_error(request->head->unique, 0);
}

void device_interrupt(const struct request *request)
{
	const struct fuse_interrupt_in *in = request->body;
	struct host_thread *thread;
	bool known;

	thread = park_interrupt(in->unique, &known);
	if (thread)
		device_resume(thread, RESUME_INTERRUPTED);
	else if (!known)	/* overtook its request, or is too late: the kernel knows which */
		session_reply_error(request->head->unique, EAGAIN);
}

/* Counts a call of the open, so that it stays; NULL: there is no such open. */
static struct binder_file *find_and_enter(u64 nodeid)
{
	struct binder_file *file;

	pthread_mutex_lock(&files_lock);
	file = *find_locked(nodeid);
	if (file)
		atomic_fetch_add(&file->calls, 1);
	pthread_mutex_unlock(&files_lock);
	return file;
}

bool device_owner_died(u64 nodeid)
{
	struct binder_file *file = find_and_enter(nodeid);

	if (!file)
		return false;
	atomic_store(&file->host->gone, true);
	atomic_store(&file->orphan, true);
	leave(file);
	return true;
}

void device_end(u64 nodeid)
{
	struct binder_file *file = find_and_enter(nodeid);

	if (!file)
		return;
	end_open(file);
	leave(file);
}

struct binder_file *device_stick(u64 nodeid)
{
	struct binder_file *file = find_and_enter(nodeid);

	if (!file)
		return NULL;
	users_charge_always(file->uid, USER_STUCK);
	atomic_fetch_add(&file->stuck, 1);
	return file;
}

void device_unstick(struct binder_file *file)
{
	atomic_fetch_sub(&file->stuck, 1);
	users_discharge(file->uid, USER_STUCK);
	leave(file);
}
