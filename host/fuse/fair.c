// SPDX-License-Identifier: GPL-2.0
/*
 * A queue of calls, round robin between users.
 *
 * The oldest calls of all users form one list, the later ones of a user hang on its oldest, which
 * knows their end. Few users have calls in it at a time, so a linear search will do.
 */
#include "fair.h"

#include "host.h"

/* The place where the call of another user is linked, or that of the oldest call of @uid. */
static struct host_thread **find_slot(struct fair_queue *queue, u32 uid)
{
	struct host_thread **slot = &queue->first;

	while (*slot && (*slot)->queue_uid != uid)
		slot = &(*slot)->next_user;
	return slot;
}

void fair_push(struct fair_queue *queue, struct host_thread *thread, u32 uid)
{
	struct host_thread **slot;

	thread->queue_uid = uid;
	thread->next_woken = NULL;
	thread->next_user = NULL;
	thread->last_of_user = thread;
	host_spin_lock(&queue->lock);
	slot = find_slot(queue, uid);
	if (*slot) {
		(*slot)->last_of_user->next_woken = thread;
		(*slot)->last_of_user = thread;
	} else {
		*slot = thread;
	}
	host_spin_unlock(&queue->lock);
}

struct host_thread *fair_pop(struct fair_queue *queue)
{
	struct host_thread *thread, *next;

	if (fair_is_empty(queue))
		return NULL;
	host_spin_lock(&queue->lock);
	thread = queue->first;
	next = thread ? thread->next_woken : NULL;
	if (thread)
		queue->first = thread->next_user;
	if (next) {
		/* it is the oldest of its user now, whose turn comes last */
		struct host_thread **end = &queue->first;

		next->last_of_user = thread->last_of_user;
		next->next_user = NULL;
		while (*end)
			end = &(*end)->next_user;
		*end = next;
	}
	host_spin_unlock(&queue->lock);
	return thread;
}
