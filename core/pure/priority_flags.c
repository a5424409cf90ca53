// SPDX-License-Identifier: GPL-2.0
/*
 * The scale is the kernel's own: real-time priorities 99 to 1, then nice values -20 to 19.
 */
#include "pure/priority_flags.h"

#include "common/abi.h"

#define NO_MINIMUM 127 /* a "nice value" below all valid ones */

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
