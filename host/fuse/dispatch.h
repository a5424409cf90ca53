/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the opcode of a request to its handler.
 */
#ifndef HOST_FUSE_DISPATCH_H
#define HOST_FUSE_DISPATCH_H

#include "session/session.h"

struct fair_queue;

/* Replies to @request, or parks it. No pointer into the request's buffer is kept. */
void dispatch(const struct request *request);

/* Serves a call or request of @queue, the backlog or the slow lane (backlog.h), if there is one. */
void dispatch_queued(struct fair_queue *queue);

#endif
