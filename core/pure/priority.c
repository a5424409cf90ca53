// SPDX-License-Identifier: GPL-2.0
/*
 * The scale is the kernel's own: real-time priorities 99 to 1, then nice values -20 to 19.
 *
 * Tested in: core/calls/inherit_test.c
 */
#include "pure/priority.h"

#include "common/abi.h"

#define NO_MINIMUM 127 /* a "nice value" below all valid ones */

bool binder_priority_is_realtime(struct host_priority p)
{
	return p.policy == POLICY_FIFO || p.policy == POLICY_RR;
}

int binder_priority_rank(struct host_priority p)
{
	return binder_priority_is_realtime(p) ? 99 - p.prio : 120 + p.prio;
}

bool binder_priority_above(struct host_priority a, struct host_priority b)
{
	return binder_priority_rank(a) < binder_priority_rank(b);
}

bool binder_priority_equal(struct host_priority a, struct host_priority b)
{
	return binder_priority_rank(a) == binder_priority_rank(b) &&
	       (a.policy == b.policy || !binder_priority_is_realtime(a));
}

struct host_priority binder_priority_of_flags(u32 flags)
{
	struct host_priority min = {
		.policy = (flags & FLAT_BINDER_FLAG_SCHED_POLICY_MASK) >>
			  FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT,
		.prio = (s8)(flags & FLAT_BINDER_FLAG_PRIORITY_MASK),
	};
	bool valid = binder_priority_is_realtime(min) ? min.prio >= 1 && min.prio <= 99 :
							min.prio >= -20 && min.prio <= 19;

	return valid ? min : (struct host_priority){ .policy = POLICY_NORMAL, .prio = NO_MINIMUM };
}

struct host_priority binder_priority_of_open(struct host_priority opener)
{
	return binder_priority_is_realtime(opener) ?
		       (struct host_priority){ .policy = POLICY_NORMAL } :
		       opener;
}
