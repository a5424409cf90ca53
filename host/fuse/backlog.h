/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backlog: calls that are put back behind those of other clients, because their command
 * streams are long (BINDER_AGAIN).
 *
 * Workers take from it between requests: one slice for each request that waits, and slices alone
 * where none does. A worker therefore waits for requests only if the backlog is empty; if one that
 * saw a request finds it taken by another, that other worker looks at the backlog when it is done.
 */
#ifndef HOST_FUSE_BACKLOG_H
#define HOST_FUSE_BACKLOG_H

#include "host_types.h"

/* Appends @thread, whose call is to be resumed and which the caller owns. */
void backlog_push(struct host_thread *thread);

/* Takes the oldest one, which the caller owns then; NULL: none. */
struct host_thread *backlog_pop(void);

/* Racy, and cheap. */
bool backlog_is_empty(void);

#endif
