/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the opcode of a request to its handler.
 */
#ifndef HOST_FUSE_DISPATCH_H
#define HOST_FUSE_DISPATCH_H

#include "session/session.h"

/* Replies to @request, or parks it. No pointer into the request's buffer is kept. */
void dispatch(const struct request *request);

/* Serves a call or request of the backlog (backlog.h), if there is one. */
void dispatch_continue_one(void);
/* The same for the slow lane. */
void dispatch_serve_slow(void);

#endif
