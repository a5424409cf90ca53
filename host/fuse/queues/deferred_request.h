/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests other than calls that came during a congestion (congestion.h): copies in the backlog.
 *
 * The caller of each waits for the reply, so a thread has one at most, and can do nothing else
 * until its turn.
 */
#ifndef HOST_FUSE_DEFERRED_REQUEST_H
#define HOST_FUSE_DEFERRED_REQUEST_H

#include "session/session.h"

struct fair_item;

/* Puts a copy of @request into the backlog. False: no memory. */
bool deferred_request_push(const struct request *request);

/*
 * If @item is such a copy: has handle() handle it as if the running worker had just read it, and
 * frees it. False: it is a call.
 */
bool deferred_request_serve(struct fair_item *item, void (*handle)(const struct request *request));

/* Is the request @unique in the backlog? */
bool deferred_request_has(uint64_t unique);

#endif
