// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that wait: parked, in the backlog, in the slow lane, or for the injector. A call that is
 * none of these is finished, or was left behind in what its client delays.
 *
 * They are restored after the engine. Nothing resumes them: a call that is parked goes on to wait,
 * and the queues are served when the gate opens.
 */
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/stuck_workers.h"
#include "calls/watched_events.h"
#include "handover/moved.h"
#include "queues/backlog.h"
#include "session/expire.h"
#include "session/session.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

/* What a call's record has besides its struct host_thread. */
struct call_place {
	u64 open_id;
	u32 place;		/* enum saved_place */
	u32 age;		/* in periods of expire.h */
};

static const struct record_field call_fields[] = {
	RECORD_64(0, struct call_place, open_id),
	RECORD_64(1, struct host_thread, request.unique),
	RECORD_64(1, struct host_thread, request.address),
	RECORD_64(1, struct host_thread, park.deadline_ns),
	RECORD_32(1, struct host_thread, tid),
	RECORD_32(0, struct call_place, place),
	RECORD_32(1, struct host_thread, request.cmd),
	RECORD_32(1, struct host_thread, request.out_size),
	RECORD_32(1, struct host_thread, request.euid),
	RECORD_32(0, struct call_place, age),
	RECORD_32(1, struct host_thread, park.interrupted),
	RECORD_32(1, struct host_thread, queued.not_begun),
	RECORD_32(1, struct host_thread, queued.resume_reason),
	RECORD_32(1, struct host_thread, affinity.core),
	RECORD_BYTES(1, struct host_thread, request.arg),
};
static const struct record_layout call_layout = RECORD_LAYOUT(call_fields);

/* ---- writing ---- */

void save_call(struct save *save, const struct host_thread *thread, enum saved_place place)
{
	const struct call_place at = { thread->proc->open_id, place,
				       expire_stamp() - thread->request.stamp };

	record_begin(&save->records, RECORD_CALL, &call_layout, (const void *[]){ &at, thread });
	record_end(&save->records);
}

static void see_parked(struct host_thread *thread, void *save)
{
	if (atomic_load(&thread->park.state) == PARK_PARKED)
		save_call(save, thread, SAVED_PARKED);
}

struct queue {
	struct save *save;
	enum saved_place place;
};

static void see_queued(struct fair_item *item, void *arg)
{
	const struct queue *queue = arg;
	struct request request;

	if (backlog_request_of(item, &request)) {
		const u64 body_size = request.body_size;

		record_put(&queue->save->records, RECORD_REQUEST, &body_size, sizeof(body_size),
			   request.head, sizeof(*request.head) + request.body_size);
	} else {
		save_call(queue->save, (struct host_thread *)((char *)item -
			  offsetof(struct host_thread, queued.item)), queue->place);
	}
}

/* The call that @worker was making; NULL: its request was none. */
static const struct host_thread *call_of(const struct worker *worker)
{
	struct open_file *file = open_file_find(atomic_load(&worker->open_id));
	struct binder_thread *thread;
	const struct host_thread *host = NULL;

	if (!file)
		return NULL;
	thread = binder_thread_find(file->proc, atomic_load(&worker->client_tid));
	if (thread && binder_thread_host(thread)->request.unique == atomic_load(&worker->unique))
		host = binder_thread_host(thread);
	atomic_fetch_sub(&file->calls, 1);	/* never the last use: the call has one */
	return host;
}

static void see_frozen(const struct worker *worker, void *arg)
{
	struct save *save = arg;
	const struct host_thread *thread = call_of(worker);
	struct left_record left = { .unique = atomic_load(&worker->unique) };

	if (thread) {
		left.is_ioctl = true;
		left.cmd = thread->request.cmd;
		left.out_size = thread->request.out_size;
		memcpy(left.arg, thread->request.arg, sizeof(left.arg));
	}
	save->nr_left++;
	record_put(&save->records, RECORD_LEFT, &left, sizeof(left), NULL, 0);
}

void save_calls(struct save *save)
{
	struct queue backlog = { save, SAVED_BACKLOG };
	struct queue slow_lane = { save, SAVED_SLOW_LANE };

	park_visit(see_parked, save);
	fair_queue_visit(daemon_self->backlog, see_queued, &backlog);
	fair_queue_visit(daemon_self->slow_lane, see_queued, &slow_lane);
	pool_visit_frozen(see_frozen, save);
}

/* ---- restoring ---- */

bool restore_call(struct restore *restore, const struct record *record)
{
	struct call_place at;
	struct host_thread call;
	struct host_thread *thread;

	record_get_fields(&restore->records, record, &call_layout, (void *[]){ &at, &call });
	thread = restore_find_thread(restore, at.open_id, call.tid);
	if (!thread || call.request.out_size > HOST_ARG_SIZE ||
	    atomic_load(&thread->park.state) != PARK_IDLE)
		return false;
	/* the call's use of the thread and of the open */
	binder_thread_get(binder_thread_of_host(thread));
	atomic_fetch_add(&thread->proc->file->calls, 1);
	record_get_fields(&restore->records, record, &call_layout, (void *[]){ NULL, thread });
	thread->request.stamp = expire_stamp() - (at.age < expire_stamp() ? at.age : 0);
	if (thread->park.deadline_ns)
		watch_deadline(thread->park.deadline_ns);
	park_restore(thread, at.place == SAVED_PARKED);
	if (at.place == SAVED_BACKLOG || at.place == SAVED_SLOW_LANE)
		fair_queue_push(at.place == SAVED_BACKLOG ? daemon_self->backlog
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
	struct left_record left;

	(void)restore;
	record_get(record, &left, sizeof(left));
	return left.out_size <= HOST_ARG_SIZE;
}

/*
 * A call that was left behind is one that a signal interrupts: the client is told how much of its
 * commands was executed, and goes on from there.
 */
void restore_reply_to_left(const struct record *record)
{
	struct left_record left;
	bool consumed;

	record_get(record, &left, sizeof(left));
	consumed = ABI_IOC_NR(left.cmd) == ABI_IOC_NR(BINDER_WRITE_READ);
	if (left.is_ioctl)
		session_reply_ioctl(left.unique, -EINTR, left.arg, consumed ? left.out_size : 0);
	else
		session_reply_status(left.unique, -EINTR);
}
