// SPDX-License-Identifier: GPL-2.0
/*
 * Binder devices.
 *
 * An ioctl becomes a call into the engine. If the engine would block, the call is parked and the
 * worker reads the next request. The thread that later queues work for the parked thread resumes
 * the call in the engine and replies to it.
 */
#include "device_requests.h"

#include "base/daemon_state.h"
#include "buffers/bound_buffer.h"
#include "buffers/receive_map.h"
#include "calls/affinity.h"
#include "calls/client_call.h"
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/stuck_workers.h"
#include "calls/watched_events.h"
#include "clients/client_thread.h"
#include "clients/users.h"
#include "core.h"
#include "events/event_stream.h"
#include "fds/fds.h"
#include "names/lookup.h"
#include "names/tree.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/expire.h"
#include "session/handles.h"
#include "session/session.h"
#include "workers/worker_pool.h"

#include <poll.h>

/*
 * The kernel keeps a page locked that is being read, until a worker has replied to that read. So
 * the running worker is replaced first; it has nothing yet that a hand-over could not leave behind.
 */
void device_drop_pages(u64 nodeid)
{
	pool_replace_self();
	session_notify_inval(nodeid, 0, MAP_SIZE);
}

void device_open(const struct request *request, struct binder_context *context, u64 open_id)
{
	struct abi_open_out out = { .open_flags = FOPEN_DIRECT_IO };
	struct open_file *file;
	int error = open_file_new(request, context, open_id, &file);
	int backing_id;

	if (error) {
		tree_closed(request->head->nodeid);
		session_reply_status(request->head->unique, error);
		return;
	}
	if (events_wanted(EVENT_OPENED))
		events_put_opened(file->host->pid);
	out.fh = file->handle;
	backing_id = binder_proc_map(file->proc)->backing_id;
	if (backing_id >= 0) {
		out.open_flags |= FOPEN_PASSTHROUGH;
		out.backing_id = backing_id;
	}
	session_reply(request->head->unique, &out, sizeof(out));
}

/* Queues the call, which is to be resumed for @reason, unless it has not begun. */
static void put_back(struct host_thread *thread, struct fair_queue *queue,
		     enum binder_resume_reason reason)
{
	thread->queued.resume_reason = reason;
	park_register(thread);	/* for an INTERRUPT */
	thread->queued.item.is_request = false;
	fair_queue_push(queue, &thread->queued.item, thread->proc->file->uid);
}

/*
 * After the engine returned *@result: parks the call, puts it back, or leaves it to the injector.
 * True: the call is complete, and the caller replies with *@result.
 */
static bool is_complete(struct host_thread *thread, int *result)
{
	struct binder_thread *binder_thread = binder_thread_of_host(thread);

	while (*result == BINDER_WOULD_BLOCK) {
		enum park_result parked = call_park(thread);

		if (parked == PARK_DONE)
			return false;
		if (parked == PARK_REFUSED) {
			*result = -EBADF;
			return true;
		}
		*result = binder_resume(binder_thread, thread->request.cmd, thread->request.arg,
					parked == PARK_INTERRUPTED ? RESUME_INTERRUPTED
								   : RESUME_WOKEN);
	}
	if (*result == BINDER_AGAIN) {
		bool takes_long = binder_thread_takes_long(binder_thread);

		put_back(thread, takes_long ? daemon_self->slow_lane : daemon_self->backlog,
			 RESUME_WOKEN);
		if (takes_long)
			pool_serve_slow();
		return false;
	}
	return !fds_start(thread, *result);
}

/* Has the call served apart from those of others, if the user's memory costs too much time. */
static bool put_in_slow_lane(struct host_thread *thread, enum binder_resume_reason reason)
{
	if (!user_time_is_slow(thread->proc->file->uid) || worker_self->slow)
		return false;
	put_back(thread, daemon_self->slow_lane, reason);
	pool_serve_slow();
	return true;
}

/* May the client of @file, or its user, have no further worker that waits in its memory? */
static bool is_overdrawn(const struct open_file *file)
{
	return pool_has_stuck() && open_file_is_overdrawn(file);
}

/* Resumes a parked call that the running thread has claimed. */
static void resume_call(struct host_thread *thread, enum binder_resume_reason reason)
{
	int result;

	thread->queued.not_begun = false;
	if (put_in_slow_lane(thread, reason))
		return;

	/* its work stays queued, but no further worker is risked in its memory */
	if (is_overdrawn(thread->proc->file)) {
		call_reply(thread, -EFAULT);
		return;
	}
	worker_begin_step(thread);
	result = binder_resume(binder_thread_of_host(thread), thread->request.cmd,
			       thread->request.arg, reason);
	if (is_complete(thread, &result))
		call_reply(thread, result);
}

static void finish_one_woken(void)
{
	struct host_thread *thread = worker_pop_woken();
	bool late;

	if (!thread)
		return;
	if (thread->woken.is_complete) {
		thread->woken.is_complete = false;
		call_reply(thread, thread->woken.result);
		return;
	}
	late = (thread->park.deadline_ns && thread->park.deadline_ns <= host_now_ns()) ||
	       expire_is_due(thread->request.stamp);
	resume_call(thread, late ? RESUME_TIMED_OUT : RESUME_WOKEN);
}

void device_finish_woken(void)
{
	worker_notify_polled();
	while (worker_run_work() || worker_has_woken()) {
		finish_one_woken();
		worker_notify_polled();
	}
}

/*
 * Why a call that was put back is resumed; @reason: if nothing else is the case. Signals do not end
 * it, save for one that kills the caller: the others need not wait for it any more.
 */
static enum binder_resume_reason reason_of(struct host_thread *thread,
					   enum binder_resume_reason reason)
{
	if (expire_is_due(thread->request.stamp))
		return RESUME_TIMED_OUT;
	if (park_is_interrupted(thread) && client_thread_is_dying(thread->tid))
		return RESUME_INTERRUPTED;
	return reason;
}

/*
 * Executes a call that has not begun. A thread that it has woken has waited longer than the caller,
 * so that thread's call is finished before the reply: but only one, and if its memory blocks this
 * worker, another one replies to the caller.
 */
static void begin_call(struct host_thread *thread)
{
	int result;

	thread->queued.not_begun = false;
	fds_settle(thread);
	worker_begin_step(thread);
	trace_ioctl(thread->request.cmd, thread->request.address);
	result = binder_ioctl(binder_thread_of_host(thread), thread->request.cmd,
			      thread->request.arg, thread->proc->file->nonblock);
	if (!is_complete(thread, &result))
		return;
	if (worker_has_woken()) {
		worker_defer_reply(thread, result);
		finish_one_woken();
		if (!worker_take_deferred())
			return;
	}
	if (!affinity_reply(thread, result))
		call_reply(thread, result);
}

void device_continue(struct fair_item *item)
{
	struct host_thread *thread =
		(struct host_thread *)((char *)item - offsetof(struct host_thread, queued.item));

	if (atomic_load(&thread->proc->ended))
		call_reply(thread, -EBADF);
	else if (!thread->queued.not_begun)
		resume_call(thread, reason_of(thread, thread->queued.resume_reason));
	else if (reason_of(thread, RESUME_WOKEN) != RESUME_WOKEN)
		call_reply(thread, -EINTR);
	else if (is_overdrawn(thread->proc->file))	/* since it was put back */
		call_reply(thread, -EFAULT);
	else if (!put_in_slow_lane(thread, RESUME_WOKEN))
		begin_call(thread);
}

/*
 * Finds the calling thread, with a reference, and begins a use of @file. Returns 0 or -errno.
 */
static int find_caller(const struct request *request, struct open_file *file,
		       struct binder_thread **thread)
{
	s32 tid = (s32)request->head->pid;

	if (tid <= 0)	/* not visible in the daemon's pid namespace, so its memory is not either */
		return -EACCES;
	if (is_overdrawn(file))
		return -EFAULT;
	if (!open_file_enter(file))
		return -EBADF;
	*thread = binder_thread_find_or_new(file->proc, tid, &tid);
	if (!*thread) {
		open_file_leave(file);
		return -ENOMEM;
	}
	if (!binder_thread_host(*thread)->request.unique) /* its first call */
		call_reap_threads(file->proc, &file->reap_at);
	return 0;
}

void device_ioctl(const struct request *request)
{
	const struct fuse_ioctl_in *in = request->body;
	struct open_file *file = handles_find(in->fh);
	struct binder_thread *binder_thread;
	struct host_thread *thread;
	int error = -EINVAL;

	if (in->in_size <= HOST_ARG_SIZE && in->out_size <= HOST_ARG_SIZE &&
	    request->body_size >= sizeof(*in) + in->in_size)
		error = find_caller(request, file, &binder_thread);
	if (error) {
		session_reply_ioctl(request->head->unique, error, NULL, 0);
		return;
	}
	thread = binder_thread_host(binder_thread);
	if (!call_begin(thread, request)) {
		session_reply_ioctl(request->head->unique, -EBUSY, NULL, 0);
		call_put_thread(thread);
		open_file_leave(file);
		return;
	}
	thread->queued.not_begun = true;
	if (put_in_slow_lane(thread, RESUME_WOKEN))
		return;
	if (congestion_is_on())
		put_back(thread, daemon_self->backlog, RESUME_WOKEN);
	else
		begin_call(thread);
}

/* The kernel wakes pollers when a worker has notified it (worker_notify_polled()). */
void device_poll(const struct request *request)
{
	const struct fuse_poll_in *in = request->body;
	struct open_file *file = handles_find(in->fh);
	struct fuse_poll_out out = { 0 };
	struct binder_thread *thread;
	int error = find_caller(request, file, &thread);

	if (error) {
		out.revents = POLLERR;
	} else {
		/* armed before the check: an event in between is notified twice, but not lost */
		if (in->flags & FUSE_POLL_SCHEDULE_NOTIFY)
			worker_arm_poll(file->host, in->kh);
		if (binder_poll(thread))
			out.revents = POLLIN;
		call_put_thread(binder_thread_host(thread));
	}
	session_reply(request->head->unique, &out, sizeof(out));
	if (!error)
		open_file_leave(file);
}

/*
 * Without passthrough the kernel reads the pages of the buffer that the client accesses. read(2),
 * which the C driver refuses, also comes here, but with a lock owner, which a page fault does
 * not have.
 */
void device_read(const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	struct open_file *file = handles_find(in->fh);
	size_t off = in->offset < MAP_SIZE ? in->offset : MAP_SIZE;
	size_t size = in->size < MAP_SIZE - off ? in->size : MAP_SIZE - off;
	struct host_map *map;
	const char *memory;

	if ((in->read_flags & FUSE_READ_LOCKOWNER) || !open_file_enter(file)) {
		session_reply_status(request->head->unique, -EINVAL);
		return;
	}
	map = binder_proc_map(file->proc);
	memory = map_memory(map);
	if (file->host->bound)
		bound_buffer_reply_read(request);
	else if (map->backing_id >= 0 || !memory)
		session_reply_status(request->head->unique, memory ? -EINVAL : -ENOMEM);
	else
		session_reply(request->head->unique, memory + off, size);
	open_file_leave(file);
}

void device_flush(const struct request *request)
{
	const struct fuse_flush_in *in = request->body;
	struct open_file *file = handles_find(in->fh);

	if (open_file_enter(file)) {
		binder_flush(file->proc);
		if (atomic_load(&file->orphan))
			watch_check_holders(file->open_id);
		open_file_leave(file);
	}
	session_reply_status(request->head->unique, 0);
}

void device_release(const struct request *request)
{
	const struct fuse_release_in *in = request->body;
	struct open_file *file = handles_find(in->fh);

	call_end_open_file(file);
	tree_closed(file->nodeid);
	handles_remove(file->handle);
	file->handle = 0;
	open_file_put(file);
	session_reply_status(request->head->unique, 0);
}

void device_interrupt(const struct request *request)
{
	const struct fuse_interrupt_in *in = request->body;
	struct host_thread *thread;
	bool known;

	thread = park_interrupt(in->unique, &known);
	if (thread)
		resume_call(thread, RESUME_INTERRUPTED);
	else if (!events_interrupt(in->unique) && !lookup_interrupt(in->unique) && !known &&
		 !backlog_has_request(in->unique))
		/* before its request or after the reply: the kernel repeats it */
		session_reply_status(request->head->unique, -EAGAIN);
}

bool device_owner_died(u64 open_id)
{
	struct open_file *file = open_file_find(open_id);

	if (!file)
		return false;
	atomic_store(&file->host->gone, true);
	atomic_store(&file->orphan, true);
	open_file_leave(file);
	return true;
}

void device_search(u64 open_id)
{
	struct open_file *file = open_file_find(open_id);
	s32 owners[FDS_OWNERS_MAX];

	if (!file)
		return;
	fds_search_holders(open_id, file->nodeid, owners,
			   open_file_owners(file, owners, FDS_OWNERS_MAX));
	open_file_leave(file);
}
