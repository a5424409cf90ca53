/* SPDX-License-Identifier: GPL-2.0 */
/*
 * locking: how calls exclude each other, chosen once, and how often each lock was contended. Only
 * the measuring builds of the module and of the daemon have it (docs/LOCKING.md).
 *
 * Its directories come before those of the engine and the host on the include path, with headers
 * of the same names: engine/common/lock.h counts what the engine locks, host/core.h has a host make
 * its calls under the mutex of a mode, and linux/host_impl.h lets the owner of the mutex be
 * preempted while it sleeps. The engine and the hosts are compiled unchanged.
 *
 *   fine		  by the locks of the objects that a call touches
 *   global		  in addition by one mutex around each call, released while the call
 *			  waits, as in Binder before it had fine-grained locks
 *   global-nopreempt	  the same, and the owner of the mutex is not preempted; in the module
 *
 * Not under the mutex: binder_shrink() (its caller may be inside a call), binder_flush() (the
 * engine may close a file that is a device of its own), binder_mmap() (under the process's
 * mmap_lock), and what only counts, looks up a thread or prints a report.
 */
#ifndef BENCH_LOCKING_H
#define BENCH_LOCKING_H

#include "host.h"

enum locking_mode { MODE_FINE, MODE_GLOBAL, MODE_GLOBAL_NOPREEMPT, NR_MODES };

extern const char *const locking_mode_names[NR_MODES];
/* NR_MODES: none has this name. */
enum locking_mode locking_mode_by_name(const char *name);

struct binder_lock;
struct binder_pi_mutex;

/*
 * The host's, in locking_host.h: is there a mutex around all calls, are locks counted, and the
 * mutex, which is not recursive and may sleep.
 */
static inline bool locking_is_global(void);
static inline bool locking_is_counting(void);
static inline bool locking_spin_trylock(struct host_spinlock *lock);
void locking_mutex_lock(void);
bool locking_mutex_trylock(void);
void locking_mutex_unlock(void);

#include "locking_host.h"

/* Around each call: returns whether it took the mutex, to be passed to locking_leave(). */
bool locking_enter_global(void);

static inline bool locking_enter(void)
{
	return locking_is_global() && locking_enter_global();
}

static inline void locking_leave(const bool *entered)
{
	if (*entered)
		locking_mutex_unlock();
}

/* The host's operations of the same names, which count as well. */
void locking_spin_lock_counted(struct binder_lock *lock);
void locking_pi_mutex_lock_counted(struct binder_pi_mutex *lock);

/* How often locks were taken and waited for: a row for the mutex of a mode, one for each rank. */
struct locking_counts {
	const char *name;
	u32 taken, waited;
};
/* The @nr-th, from 0. False: there are no more. */
bool locking_counts(u32 nr, struct locking_counts *counts);
void locking_counts_reset(void);

#endif
