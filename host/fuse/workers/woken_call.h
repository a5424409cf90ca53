/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread's call needs in the queue of a worker, which owns it there; for worker.c. The lock
 * of that worker guards @next; the rest is written before the call is queued.
 */
#ifndef HOST_FUSE_WOKEN_CALL_H
#define HOST_FUSE_WOKEN_CALL_H

#include "base/types.h"

/* Something to be done later: at a worker (worker.h), or by a thread of its own (workqueue.h). */
struct work {
	struct work *next;
	void (*run)(struct work *work);
};

struct host_thread;

struct woken_call {
	struct host_thread *next;
	bool is_complete; /* the worker only replies, with @result */
	int result;
	struct work release; /* when the last reference to the thread is gone */
};

#endif
