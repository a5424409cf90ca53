// SPDX-License-Identifier: GPL-2.0
/* Calls that are put back behind those of other clients. */
#include "queues/backlog.h"

#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

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
