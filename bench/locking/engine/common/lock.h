/* SPDX-License-Identifier: GPL-2.0 */
/* core/common/lock.h, with locks that can be counted. */
#ifndef BENCH_LOCKING_LOCK_H
#define BENCH_LOCKING_LOCK_H

#include_next "common/lock.h"

#include "locking.h"

static inline void locking_spin_lock(struct binder_lock *lock)
{
	if (locking_is_counting())
		locking_spin_lock_counted(lock);
	else
		binder_lock(lock);
}

static inline void locking_pi_mutex_lock(struct binder_pi_mutex *lock)
{
	if (locking_is_counting())
		locking_pi_mutex_lock_counted(lock);
	else
		binder_pi_mutex_lock(lock);
}

#define binder_lock(lock) locking_spin_lock(lock)
#define binder_pi_mutex_lock(lock) locking_pi_mutex_lock(lock)

#endif
