// SPDX-License-Identifier: GPL-2.0
/*
 * What a worker does: it reads a request, has it handled, and finishes the parked calls that it
 * woke.
 */
#include "server_process.h"

#include "base/daemon_state.h"
#include "base/gate.h"
#include "calls/affinity.h"
#include "calls/client_call.h"
#include "calls/stuck_workers.h"
#include "calls/watched_events.h"
#include "device_requests.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/session.h"
#include "workers/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void begin_work(u64 unique)
{
	worker_begin_request(unique);
	watch_arm_check();
}

/* Finishes what was woken, and what was queued for this worker. */
static void end_work(void)
{
	device_finish_woken();
	worker_end_request();
}

/* Serves one of @queue, the backlog or the slow lane. */
static void serve_queued(struct fair_queue *queue)
{
	begin_work(0);
	dispatch_queued(queue);
	end_work();
}

/* Serves all of @queue, unless others took over from this worker. */
static void serve_all(struct worker *self, struct fair_queue *queue)
{
	while (!fair_queue_is_empty(queue) && !atomic_load(&self->stuck) && !gate_is_closed())
		serve_queued(queue);
}

/*
 * Finishes the work taken over from another worker. That includes the backlog: all workers that
 * serve may be waiting for requests.
 */
static void finish_work(struct worker *self)
{
	struct host_thread *thread = atomic_load(&self->deferred);

	begin_work(0);
	if (thread) {
		atomic_store(&self->deferred, NULL);
		call_reply(thread, self->deferred_result);
	}
	end_work();
	serve_all(self, daemon_self->backlog);
}

/* Does all that other workers have left to this one; they leave it nothing any more. */
static void begin_sleep(void)
{
	while (!worker_begin_sleep()) {
		begin_work(0);
		end_work();
	}
}

static bool read_request(struct request *request, void *buffer)
{
	bool ok;

	begin_sleep();
	ok = session_read(request, buffer);
	worker_end_sleep();
	affinity_note_worker();
	return ok;
}

/* Reads and serves one request. False: the file system was unmounted. */
static bool serve_one(void *buffer)
{
	struct request request;

	if (!read_request(&request, buffer))
		return false;
	congestion_note(request.head->uid);
	begin_work(request.head->unique);
	dispatch(&request);
	end_work();
	return true;
}

/*
 * Serves a request, or more if they only go to the backlog; if there is a backlog, only those that
 * wait. False: the file system was unmounted.
 */
static bool serve_some(struct worker *self, void *buffer, bool idle)
{
	unsigned int most = congestion_is_on() ? CONGESTION_READS : 1;
	bool ok = true;

	for (; ok && most && (idle || session_has_request()); most--) {
		ok = serve_one(buffer);
		if (idle || atomic_load(&self->stuck))
			break;
	}
	return ok;
}

static void serve_requests(struct worker *self)
{
	/* aligned: a request in one page, for each of which the kernel looks the memory up */
	void *buffer = aligned_alloc(4096, SESSION_BUFFER_SIZE);

	while (buffer && !atomic_load(&self->stuck)) {
		bool idle;

		if (gate_is_closed()) {
			begin_sleep();
			gate_rest();
			worker_end_sleep();
			continue;
		}
		idle = fair_queue_is_empty(daemon_self->backlog);
		if (!serve_some(self, buffer, idle)) {
			kill(getpid(), SIGTERM);	/* end the daemon */
			break;
		}
		if (!idle)
			serve_queued(daemon_self->backlog);
	}
	free(buffer);
}

void worker_main(struct worker *self)
{
	if (self->serves)
		serve_requests(self);
	else if (self->slow)
		serve_all(self, daemon_self->slow_lane);
	else
		finish_work(self);
	pool_leave(self);
}
