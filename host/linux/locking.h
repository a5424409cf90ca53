/* SPDX-License-Identifier: GPL-2.0 */
/*
 * locking: the locking modes of the module, and lock counters (host/measure.h).
 *
 * In the modes other than `fine` there is one mutex around all calls. In `global-nopreempt` its
 * owner also has preemption off, from before it takes the mutex until it releases it, except
 * while it sleeps. So what may have to sleep is first tried in a form that does not: copies with
 * page faults disabled, allocations without reclaim. Only where that fails, or where there is no
 * such form, preemption is enabled around it. All of this is behind static keys.
 */
#ifndef HOST_LINUX_LOCKING_H
#define HOST_LINUX_LOCKING_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/* Locks are counted (core/common/contention.h). */
DECLARE_STATIC_KEY_FALSE(locking_counted);
DECLARE_STATIC_KEY_FALSE(locking_global);    /* the mode is not `fine` */
DECLARE_STATIC_KEY_FALSE(locking_nopreempt); /* the mode is `global-nopreempt` */

/* One for each rank of the engine's locks, for lockdep. */
#define LOCKING_CLASSES 16
extern struct lock_class_key locking_classes[LOCKING_CLASSES];

/* Sets the keys for the mode that was chosen. Called once, before the first call. */
void locking_init(void);

static __always_inline bool locking_is_nopreempt(void)
{
	return static_branch_unlikely(&locking_nopreempt);
}

/* The mutex around all calls. */
void locking_global_lock(void);
bool locking_global_trylock(void);
void locking_global_unlock(void);

/* Enables preemption if this mode has disabled it, and returns whether it had. */
bool locking_begin_sleep(void);
/* @begun: the result of locking_begin_sleep(). */
void locking_end_sleep(bool begun);

/* Executes a statement that may sleep. */
#define locking_may_sleep(statement)					\
do {									\
	if (locking_is_nopreempt()) {					\
		bool begun_ = locking_begin_sleep();			\
									\
		statement;						\
		locking_end_sleep(begun_);				\
	} else {							\
		statement;						\
	}								\
} while (0)

/* kvzalloc(), kvfree(), copy_from_user() and copy_to_user() in `global-nopreempt`. */
void *locking_alloc(size_t size);
void locking_free(void *ptr);
unsigned long locking_copy_in(void *dst, const void __user *src, size_t size);
unsigned long locking_copy_out(void __user *dst, const void *src, size_t size);

static inline unsigned long locking_copy_from_user(void *dst, const void __user *src, size_t size)
{
	return locking_is_nopreempt() ? locking_copy_in(dst, src, size) :
					copy_from_user(dst, src, size);
}

#endif
