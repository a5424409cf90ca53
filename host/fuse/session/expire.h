/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls that may not wait for long.
 *
 * Linux 6.14 and later can limit the age of FUSE requests (sysctls fs.fuse.default_request_timeout
 * and fs.fuse.max_request_timeout): one that is older ends the whole connection. A call, however,
 * may wait without limit, for work or in memory that its client does not provide. Where a limit
 * applies, calls are therefore ended before it: a waiting read returns without work, as it does
 * after close(2) of any descriptor of its file, the rest of a command stream is left to the client
 * (-EINTR), and a call that is stuck in its client's memory fails with -EFAULT.
 *
 * Ages are counted in periods, so that a call costs no reading of the clock.
 */
#ifndef HOST_FUSE_EXPIRE_H
#define HOST_FUSE_EXPIRE_H

#include "base/daemon_state.h"
#include "host_types.h"

/* The periods in a limit, and how many of them a call may take. */
#define EXPIRE_PERIODS 8u
#define EXPIRE_AGE 5u

struct expire {
	atomic_uint period;		/* the current one, from 1; 0: there is no limit */
	u64 period_ns;			/* 0: there is no limit */
	u64 next_ns;			/* when the next period begins */
};

void expire_init(void);

/* Before the watcher, which counts the periods: the limit is @timeout_s, 0: there is none. */
void expire_start(unsigned int timeout_s);

/* ---- for the watcher ---- */

/* Counts a period if one has passed. True: calls may be too old now. */
bool expire_advance(u64 now_ns);
/* When a period will have passed (monotonic); UINT64_MAX: never. */
u64 expire_next_ns(void);

/* The period in which a call begins. */
static inline u32 expire_stamp(void)
{
	return atomic_load_explicit(&daemon_self->expire->period, memory_order_relaxed);
}

/* Is a call of the period @stamp too old? */
static inline bool expire_is_due(u32 stamp)
{
	return stamp && expire_stamp() - stamp >= EXPIRE_AGE;
}

#endif
