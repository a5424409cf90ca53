/* SPDX-License-Identifier: GPL-2.0 */
/*
 * priority: one scale for all scheduling priorities, real-time ones first. Pure: no locks,
 * no host call. calls/inherit.h applies it to threads.
 */
#ifndef BINDER_PRIORITY_H
#define BINDER_PRIORITY_H

#include "host.h"

enum { POLICY_NORMAL = 0, POLICY_FIFO = 1, POLICY_RR = 2 };

static inline bool binder_priority_is_realtime(struct host_priority p)
{
	return p.policy == POLICY_FIFO || p.policy == POLICY_RR;
}

/* Position on the scale; 0 is the most urgent. */
static inline int binder_priority_rank(struct host_priority p)
{
	return binder_priority_is_realtime(p) ? 99 - p.prio : 120 + p.prio;
}

/* Is @a more urgent than @b? */
static inline bool binder_priority_above(struct host_priority a, struct host_priority b)
{
	return binder_priority_rank(a) < binder_priority_rank(b);
}

/* Policies that are not real-time are not distinguished. */
static inline bool binder_priority_equal(struct host_priority a, struct host_priority b)
{
	return a.prio == b.prio &&
	       (a.policy == b.policy ||
		!(binder_priority_is_realtime(a) || binder_priority_is_realtime(b)));
}

/*
 * The minimum that the @flags of a flat_binder_object ask for; below all others if they
 * are not valid.
 */
struct host_priority binder_priority_of_flags(u32 flags);
/*
 * The default priority of a process whose opening thread has priority @opener: a
 * real-time policy belongs to the thread alone.
 */
struct host_priority binder_priority_of_open(struct host_priority opener);

#endif
