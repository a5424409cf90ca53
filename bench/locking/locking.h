/* SPDX-License-Identifier: GPL-2.0 */
/*
 * locking: how calls exclude each other, chosen once, and how often each lock was contended. Only
 * the measuring build of the module has it (docs/LOCKING.md).
 *
 * Its directories come before those of the engine and the host on the include path, with headers
 * of the same names: engine/common/lock.h counts what the engine locks, host/core.h has the host
 * make its calls under the mutex of a mode, and linux/host_impl.h lets the owner of the mutex be
 * preempted while it sleeps. The engine and the host are compiled unchanged.
 *
 *   fine		  by the locks of the objects that a call touches
 *   global		  in addition by one mutex around each call, released while the call
 *			  waits, as in Binder before it had fine-grained locks
 *   global-nopreempt	  the same, and the owner of the mutex is not preempted
 *
 * Not under the mutex: binder_shrink() (its caller may be inside a call), binder_flush() (the
 * engine may close a file that is a device of its own), binder_mmap() (under the process's
 * mmap_lock), and what only counts, looks up a thread or prints a report.
 *
 * In `global-nopreempt` the owner of the mutex has preemption off, from before it takes the mutex
 * until it releases it, except while it sleeps. So what may have to sleep is first tried in a form
 * that does not: copies with page faults disabled, allocations without reclaim. Only where that
 * fails, or where there is no such form, preemption is enabled around it (linux/host_impl.h).
 */
#ifndef BENCH_LOCKING_H
#define BENCH_LOCKING_H

#include "host_types.h"

#include <linux/jump_label.h>
#include <linux/percpu.h>

struct binder_lock;
struct binder_pi_mutex;

DECLARE_STATIC_KEY_FALSE(locking_counted);
DECLARE_STATIC_KEY_FALSE(locking_global);    /* the mode is not `fine` */
DECLARE_STATIC_KEY_FALSE(locking_nopreempt); /* the mode is `global-nopreempt` */

static __always_inline bool locking_is_counting(void)
{
	return static_branch_unlikely(&locking_counted);
}

/* Around each call: returns whether it took the mutex, to be passed to locking_leave(). */
bool locking_enter_global(void);

static inline bool locking_enter(void)
{
	return static_branch_unlikely(&locking_global) && locking_enter_global();
}

void locking_leave(const bool *entered);

/* The host's operations of the same names, which count as well. */
void locking_spin_lock_counted(struct binder_lock *lock);
void locking_pi_mutex_lock_counted(struct binder_pi_mutex *lock);

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
