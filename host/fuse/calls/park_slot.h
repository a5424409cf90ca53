/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a thread's call waits without a thread of the daemon; for park.c.
 *
 * @state decides by compare-and-exchange who owns the call. The lock of the call's bucket guards
 * @interrupted and the links; @deadline_ns belongs to the owner of the call until it is parked.
 */
#ifndef HOST_FUSE_PARK_SLOT_H
#define HOST_FUSE_PARK_SLOT_H

#include "base/types.h"

struct host_thread;

struct park_slot {
	atomic_uint state;		/* enum park_state */
	bool interrupted;		/* an INTERRUPT came while the call was not parked */
	u64 deadline_ns;		/* of the wait; 0: none */
	struct host_thread *next;	/* in its bucket of requests */
	struct host_thread **slot;	/* NULL: in none */
};

#endif
