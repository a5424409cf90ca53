/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls that are put back behind those of other clients, in queues that are served round robin
 * between users, and in order for each of them: a user with many threads gets no more than one with
 * a single thread.
 *
 * The backlog has those whose command streams are long (BINDER_AGAIN), and the calls and requests
 * that came during a congestion (congestion.h). Workers take from it between requests: one slice
 * for each request that waits (for some requests during a congestion), and slices alone where none
 * does. A worker therefore waits for requests only if the backlog is empty. If another worker takes
 * the request that it saw, the other one looks at the backlog when it is done.
 *
 * The slow lane has those of users whose memory has cost workers too much time (users.h). A thread
 * of its own serves them, so that the workers are there for the others.
 *
 * What is in a queue is owned by it: a call is neither parked nor in the queue of a worker.
 */
#ifndef HOST_FUSE_BACKLOG_H
#define HOST_FUSE_BACKLOG_H

#include "base/daemon_state.h"
#include "host_types.h"
#include "session/session.h"

/* ---- a queue ---- */

struct fair_queue {
	struct host_spinlock lock;
	atomic_bool has_items;		/* to look at without the lock */
	struct fair_item *first;	/* the oldest item of the next user, linked by next_user */
};

/* Appends @item to those of @uid. */
void fair_queue_push(struct fair_queue *queue, struct fair_item *item, u32 uid);

/* Takes the oldest item of the next user; NULL: none. */
struct fair_item *fair_queue_pop(struct fair_queue *queue);

/* Is there an item for which @is_it(item, @arg)? */
bool fair_queue_has(struct fair_queue *queue, bool (*is_it)(const struct fair_item *item, u64 arg),
		    u64 arg);

/* Calls @visit for each item, those of a user in order. Nothing else uses the queue. */
void fair_queue_visit(struct fair_queue *queue, void (*visit)(struct fair_item *item, void *arg),
		      void *arg);

/* Racy, and cheap. */
static inline bool fair_queue_is_empty(struct fair_queue *queue)
{
	return !atomic_load_explicit(&queue->has_items, memory_order_relaxed);
}

/* ---- the two ---- */

/* Creates both: daemon_self->backlog and daemon_self->slow_lane. */
void backlog_init(void);

/*
 * Puts a copy of @request, which is no call, into the backlog. Its caller waits for the reply, so a
 * thread has one there at most. False: no memory.
 */
bool backlog_push_request(const struct request *request);

/*
 * If @item is such a copy: has handle() handle it as if the running worker had just read it, and
 * frees it. False: it is a call.
 */
bool backlog_serve_request(struct fair_item *item, void (*handle)(const struct request *request));

/* Fills *@request if @item is such a copy, whose header and body follow each other. */
bool backlog_request_of(struct fair_item *item, struct request *request);

/* Is the request @unique in the backlog? */
bool backlog_has_request(uint64_t unique);

#endif
