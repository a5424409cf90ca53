/* SPDX-License-Identifier: GPL-2.0 */
/*
 * locking: the regime in this home (core/common/locking_mode.h), by two static keys that are off in
 * the regime `fine`, and what the home does with preemption off in `global-nopreempt`.
 *
 * Who takes the regime's mutex there has preemption off, which is known per CPU: while it is off,
 * what runs here is the holder, or becomes it. What may have to sleep is first tried in its form
 * that does not (a copy without page faults, memory without reclaim); only if that fails, or there
 * is no such form, is preemption on around it, as it is while anything sleeps.
 */
#ifndef HOST_LINUX_LOCKING_H
#define HOST_LINUX_LOCKING_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/uaccess.h>

DECLARE_STATIC_KEY_FALSE(locking_global);    /* one mutex around all calls */
DECLARE_STATIC_KEY_FALSE(locking_nopreempt); /* and its holder keeps its CPU */

/* Of the regime, not of the present moment; a no-op where it is another. */
static __always_inline bool locking_is_nopreempt(void)
{
	return static_branch_unlikely(&locking_nopreempt);
}

/* The mutex around all calls.  In global-nopreempt its owner has preemption off. */
void locking_global_lock(void);
bool locking_global_trylock(void);
void locking_global_unlock(void);
/* Preemption on if it was the regime that had it off, which is returned; off again. */
bool locking_relax(void);
void locking_tighten(bool relaxed);

/* A statement that may sleep. */
#define locking_may_sleep(statement)					\
do {									\
	if (locking_is_nopreempt()) {					\
		bool relaxed_ = locking_relax();				\
									\
		statement;						\
		locking_tighten(relaxed_);				\
	} else {							\
		statement;						\
	}								\
} while (0)

/* In this regime kvzalloc(), kvfree(), copy_from_user() and copy_to_user(); called with preemption
 * on they do just that. */
void *locking_alloc(size_t size);
void locking_free(void *ptr);
unsigned long locking_copy_in(void *dst, const void __user *src, size_t size);
unsigned long locking_copy_out(void __user *dst, const void *src, size_t size);

static inline unsigned long locking_copy_from_user(void *dst, const void __user *src, size_t size)
{
	return locking_is_nopreempt() ? locking_copy_in(dst, src, size) :
					copy_from_user(dst, src, size);
}

static inline unsigned long locking_copy_to_user(void __user *dst, const void *src, size_t size)
{
	return locking_is_nopreempt() ? locking_copy_out(dst, src, size) :
					copy_to_user(dst, src, size);
}

#endif
