/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread's call needs in the backlog or the slow lane (backlog.h), which owns it there. The
 * lock of the queue guards @item; the rest is written before the call is queued.
 */
#ifndef HOST_FUSE_QUEUED_CALL_H
#define HOST_FUSE_QUEUED_CALL_H

#include "base/types.h"

/* A call or a request in a queue that is fair between users (fair_queue.h). */
struct fair_item {
	struct fair_item *next;		/* of the same user */
	struct fair_item *next_user;
	struct fair_item *last_of_user;
	u32 uid;
	bool is_request;		/* else a call: in a struct host_thread */
};

struct queued_call {
	struct fair_item item;
	bool not_begun; /* the engine has not seen the call */
	u8 resume_reason; /* else: what it is to be resumed for */
};

#endif
