/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue of calls that is served round robin between users, and in order for each of them: a user
 * with many threads gets no more than one with a single thread.
 *
 * A call in it is owned by the queue: it is neither parked nor in the queue of a worker.
 */
#ifndef HOST_FUSE_FAIR_H
#define HOST_FUSE_FAIR_H

#include "host_types.h"

struct fair_queue {
	struct host_spinlock lock;
	struct host_thread *first;	/* the oldest call of the next user, linked by next_user */
};

/* Appends @thread to the calls of @uid. */
void fair_push(struct fair_queue *queue, struct host_thread *thread, u32 uid);

/* Takes the oldest call of the next user; NULL: none. */
struct host_thread *fair_pop(struct fair_queue *queue);

/* Racy, and cheap. */
static inline bool fair_is_empty(struct fair_queue *queue)
{
	return !__atomic_load_n(&queue->first, __ATOMIC_RELAXED);
}

#endif
