// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the calls that wait: parked, in the backlog, in the slow lane, or for the injector. A call
 * that is none of these is finished, or was left behind in what its client delays.
 */
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/stuck_workers.h"
#include "core.h"
#include "handover/private.h"
#include "handover/saved.h"
#include "queues/backlog.h"
#include "session/expire.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

void save_call(struct save *save, const struct host_thread *thread, enum saved_place place)
{
	struct saved_call saved = {
		.open_id = thread->proc->open_id,
		.unique = thread->request.unique,
		.address = thread->request.address,
		.deadline_ns = thread->park.deadline_ns,
		.tid = thread->tid,
		.place = place,
		.cmd = thread->request.cmd,
		.out_size = thread->request.out_size,
		.euid = thread->request.euid,
		.age = expire_stamp() - thread->request.stamp,
		.interrupted = thread->park.interrupted,
		.not_begun = thread->queued.not_begun,
		.resume_reason = thread->queued.resume_reason,
		.core = thread->affinity.core,
	};

	memcpy(saved.arg, thread->request.arg, sizeof(saved.arg));
	save->nr_calls++;
	record_put(&save->records, RECORD_CALL, &saved, sizeof(saved), NULL, 0);
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
		struct saved_request saved = { .body_size = request.body_size };

		record_put(&queue->save->records, RECORD_REQUEST, &saved, sizeof(saved),
			   request.head, sizeof(*request.head) + request.body_size);
	} else {
		save_call(queue->save,
			  (struct host_thread *)((char *)item -
						 offsetof(struct host_thread, queued.item)),
			  queue->place);
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
	struct saved_left saved = { .unique = atomic_load(&worker->unique) };

	if (thread) {
		saved.is_ioctl = true;
		saved.cmd = thread->request.cmd;
		saved.out_size = thread->request.out_size;
		memcpy(saved.arg, thread->request.arg, sizeof(saved.arg));
	}
	save->nr_left++;
	record_put(&save->records, RECORD_LEFT, &saved, sizeof(saved), NULL, 0);
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
