// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that are put back behind those of other clients.
 *
 * In a queue the oldest items of all users form one list, the later ones of a user hang on its
 * oldest, which knows their end. Few users have items in it at a time, so a linear search will do.
 */
#include "queues/backlog.h"

#include "host.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

/* ---- a queue ---- */

static void fair_queue_init(struct fair_queue *queue)
{
	host_spin_init(&queue->lock, 0);
	queue->first = NULL;
	atomic_init(&queue->has_items, false);
}

/* Returns the place of the oldest item of @uid, or that where another user's would be linked. */
static struct fair_item **find_slot(struct fair_queue *queue, u32 uid)
{
	struct fair_item **slot = &queue->first;

	while (*slot && (*slot)->uid != uid)
		slot = &(*slot)->next_user;
	return slot;
}

void fair_queue_push(struct fair_queue *queue, struct fair_item *item, u32 uid)
{
	struct fair_item **slot;

	item->uid = uid;
	item->next = NULL;
	item->next_user = NULL;
	item->last_of_user = item;
	guard_spin(&queue->lock);
	slot = find_slot(queue, uid);
	if (*slot) {
		(*slot)->last_of_user->next = item;
		(*slot)->last_of_user = item;
	} else {
		*slot = item;
	}
	atomic_store_explicit(&queue->has_items, true, memory_order_relaxed);
}

struct fair_item *fair_queue_pop(struct fair_queue *queue)
{
	struct fair_item *item, *next;

	if (fair_queue_is_empty(queue))
		return NULL;
	guard_spin(&queue->lock);
	item = queue->first;
	next = item ? item->next : NULL;
	if (item)
		queue->first = item->next_user;
	if (next) {
		/* it is the oldest of its user now, whose turn comes last */
		struct fair_item **end = &queue->first;

		next->last_of_user = item->last_of_user;
		next->next_user = NULL;
		while (*end)
			end = &(*end)->next_user;
		*end = next;
	}
	atomic_store_explicit(&queue->has_items, queue->first, memory_order_relaxed);
	return item;
}

bool fair_queue_has(struct fair_queue *queue, bool (*is_it)(const struct fair_item *item, u64 arg),
		    u64 arg)
{
	const struct fair_item *user;
	const struct fair_item *item;
	bool has = false;

	guard_spin(&queue->lock);
	for (user = queue->first; user && !has; user = user->next_user)
		for (item = user; item && !has; item = item->next)
			has = is_it(item, arg);
	return has;
}

void fair_queue_visit(struct fair_queue *queue, void (*visit)(struct fair_item *item, void *arg),
		      void *arg)
{
	for (struct fair_item *user = queue->first; user; user = user->next_user)
		for (struct fair_item *item = user; item; item = item->next)
			visit(item, arg);
}

/* ---- the backlog ---- */

void backlog_init(void)
{
	fair_queue_init(daemon_part(backlog));
	fair_queue_init(daemon_part(slow_lane));
}

struct deferred_request {
	struct fair_item item;
	uint32_t body_size;
	struct fuse_in_header head;
	char body[];
};

bool backlog_push_request(const struct request *request)
{
	struct deferred_request *later = malloc(sizeof(*later) + request->body_size);

	if (!later)
		return false;
	later->item.is_request = true;
	later->body_size = request->body_size;
	later->head = *request->head;
	memcpy(later->body, request->body, request->body_size);
	fair_queue_push(daemon_self->backlog, &later->item, later->head.uid);
	return true;
}

bool backlog_request_of(struct fair_item *item, struct request *request)
{
	struct deferred_request *later = (struct deferred_request *)item;

	if (!item->is_request)
		return false;
	request->head = &later->head;
	request->body = later->body;
	request->body_size = later->body_size;
	return true;
}

bool backlog_serve_request(struct fair_item *item, void (*handle)(const struct request *request))
{
	struct deferred_request *later = (struct deferred_request *)item;
	struct request request;

	if (!backlog_request_of(item, &request))
		return false;
	worker_set_request(later->head.unique);
	handle(&request);
	free(later);
	return true;
}

static bool is_request(const struct fair_item *item, u64 unique)
{
	return item->is_request && ((const struct deferred_request *)item)->head.unique == unique;
}

bool backlog_has_request(uint64_t unique)
{
	return fair_queue_has(daemon_self->backlog, is_request, unique);
}
