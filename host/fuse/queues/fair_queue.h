/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue that is served round robin between users, and in order for each of them: a user with many
 * threads gets no more than one with a single thread.
 *
 * An item in it is a call or a request (backlog.h). It is owned by the queue: a call in it is
 * neither parked nor in the queue of a worker.
 */
#ifndef HOST_FUSE_FAIR_QUEUE_H
#define HOST_FUSE_FAIR_QUEUE_H

#include "host_types.h"

struct fair_queue {
	struct host_spinlock lock;
	atomic_bool has_items;		/* to look at without the lock */
	struct fair_item *first;	/* the oldest item of the next user, linked by next_user */
};

void fair_queue_init(struct fair_queue *queue);

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

#endif
