/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The locking modes in the module.
 *
 * In `global-nopreempt` the owner of the mutex has preemption off, from before it takes the mutex
 * until it releases it, except while it sleeps. So what may have to sleep is first tried in a form
 * that does not: copies with page faults disabled, allocations without reclaim. Only where that
 * fails, or where there is no such form, preemption is enabled around it (host_impl.h here).
 */
#ifndef BENCH_LOCKING_LINUX_H
#define BENCH_LOCKING_LINUX_H

#include "host_types.h"

#include <linux/jump_label.h>
#include <linux/percpu.h>

DECLARE_STATIC_KEY_FALSE(locking_counted);
DECLARE_STATIC_KEY_FALSE(locking_global);    /* the mode is not `fine` */
DECLARE_STATIC_KEY_FALSE(locking_nopreempt); /* the mode is `global-nopreempt` */

static __always_inline bool locking_is_counting(void)
{
	return static_branch_unlikely(&locking_counted);
}

static __always_inline bool locking_is_global(void)
{
	return static_branch_unlikely(&locking_global);
}

static inline bool locking_spin_trylock(struct host_spinlock *lock)
{
	return spin_trylock(&lock->lock);
}

/* Is preemption off on this CPU because of the mode? The thread owns or tries to take the mutex. */
DECLARE_PER_CPU(bool, locking_pinned);

static __always_inline bool locking_is_pinned(void)
{
	return static_branch_unlikely(&locking_nopreempt) && this_cpu_read(locking_pinned);
}

void locking_pin(void);
void locking_unpin(void);

/* Enables preemption if the mode has disabled it, and returns whether it had. */
static __always_inline bool locking_begin_sleep(void)
{
	bool begun = locking_is_pinned();

	if (begun)
		locking_unpin();
	return begun;
}

static __always_inline void locking_end_sleep(const bool *begun)
{
	if (*begun)
		locking_pin();
}

/* Evaluates a call that may sleep. */
#define MAY_SLEEP(call)								\
({										\
	bool begun_ __attribute__((cleanup(locking_end_sleep))) = locking_begin_sleep(); \
										\
	call;									\
})

#endif
