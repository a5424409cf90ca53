// SPDX-License-Identifier: GPL-2.0
/*
 * Restores the calls that wait, after the engine. Nothing resumes them: a call that is parked goes
 * on to wait, and the queues are served when the gate opens.
 */
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/watched_events.h"
#include "core.h"
#include "handover/private.h"
#include "handover/saved.h"
#include "queues/backlog.h"
#include "session/expire.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

static void fill_call(struct host_thread *thread, const struct saved_call *saved)
{
	thread->request.unique = saved->unique;
	thread->request.address = saved->address;
	thread->park.deadline_ns = saved->deadline_ns;
	thread->request.cmd = saved->cmd;
	thread->request.out_size = saved->out_size;
	thread->request.euid = saved->euid;
	thread->request.stamp =
		saved->age < expire_stamp() ? expire_stamp() - saved->age : expire_stamp();
	thread->park.interrupted = saved->interrupted;
	thread->queued.not_begun = saved->not_begun;
	thread->queued.resume_reason = (u8)saved->resume_reason;
	thread->affinity.core = saved->core;
	memcpy(thread->request.arg, saved->arg, sizeof(thread->request.arg));
}

struct host_thread *restore_find_thread(const struct restore *restore, u64 open_id, s32 tid)
{
	struct restored_open *open = restore_find_open(restore, open_id);
	struct binder_thread *thread = NULL;

	if (open && !open->released)
		thread = binder_thread_find(open->file->proc, tid);
	return thread ? binder_thread_host(thread) : NULL;
}

bool restore_call(struct restore *restore, const struct record *record)
{
	struct host_thread *thread;
	struct saved_call saved;

	record_get(record, &saved, sizeof(saved));
	thread = restore_find_thread(restore, saved.open_id, saved.tid);
	if (!thread || saved.out_size > HOST_ARG_SIZE ||
	    atomic_load(&thread->park.state) != PARK_IDLE)
		return false;
	/* the call's use of the thread and of the open */
	binder_thread_get(binder_thread_of_host(thread));
	atomic_fetch_add(&thread->proc->file->calls, 1);
	fill_call(thread, &saved);
	restore->nr_calls++;
	if (saved.deadline_ns)
		watch_deadline(saved.deadline_ns);
	park_restore(thread, saved.place == SAVED_PARKED);
	if (saved.place == SAVED_BACKLOG || saved.place == SAVED_SLOW_LANE)
		fair_queue_push(saved.place == SAVED_BACKLOG ? daemon_self->backlog
							     : daemon_self->slow_lane,
				&thread->queued.item, thread->proc->file->uid);
	return true;
}

bool restore_request(struct restore *restore, const struct record *record)
{
	struct fuse_in_header head;
	struct request request;

	(void)restore;
	if (record->size < sizeof(head))
		return false;
	request.head = (const struct fuse_in_header *)record->bytes;
	request.body = request.head + 1;
	request.body_size = (uint32_t)(record->size - sizeof(head));
	return backlog_push_request(&request);
}

bool restore_left(struct restore *restore, const struct record *record)
{
	struct saved_left *left = realloc(restore->left,
					  (restore->nr_left + 1) * sizeof(*left));

	if (!left)
		return false;
	restore->left = left;
	record_get(record, &left[restore->nr_left], sizeof(*left));
	return left[restore->nr_left++].out_size <= HOST_ARG_SIZE;
}

/*
 * A call that was left behind is one that a signal interrupts: the client is told how much of its
 * commands was executed, and goes on from there.
 */
void restore_reply_to_left(const struct restore *restore)
{
	for (u32 i = 0; i < restore->nr_left; i++) {
		const struct saved_left *left = &restore->left[i];
		bool consumed = left->is_ioctl &&
				ABI_IOC_NR(left->cmd) == ABI_IOC_NR(BINDER_WRITE_READ);

		if (left->is_ioctl)
			session_reply_ioctl(left->unique, -EINTR, left->arg,
					    consumed ? left->out_size : 0);
		else
			session_reply_status(left->unique, -EINTR);
	}
}
