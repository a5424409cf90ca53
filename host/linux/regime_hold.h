/* SPDX-License-Identifier: GPL-2.0 */
/*
 * regime_hold: the regime in this home (core/regime.h), by two static keys that are off in the
 * regime `fine`, and what the home does with preemption off in `global-nopreempt`.
 *
 * Who takes the regime's mutex there has preemption off, which is known per CPU: while it is off,
 * what runs here is the holder, or becomes it. What may have to sleep is first tried in its form
 * that does not (a copy without page faults, memory without reclaim); only if that fails, or there
 * is no such form, is preemption on around it, as it is while anything sleeps.
 */
#ifndef HOST_LINUX_REGIME_HOLD_H
#define HOST_LINUX_REGIME_HOLD_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/uaccess.h>

DECLARE_STATIC_KEY_FALSE(regime_global);    /* one mutex around all calls */
DECLARE_STATIC_KEY_FALSE(regime_nopreempt); /* and its holder keeps its CPU */

/* Of the regime, not of the present moment; a no-op where it is another. */
static __always_inline bool regime_is_nopreempt(void)
{
	return static_branch_unlikely(&regime_nopreempt);
}

/* The calling thread is about to take the mutex, has let it go: preemption goes off; on. */
void regime_pin(void);
void regime_unpin(void);
/* Preemption on if it was the regime that had it off, which is returned; off again. */
bool regime_relax(void);
void regime_tighten(bool relaxed);

/* A statement that may sleep. */
#define regime_may_sleep(statement)					\
do {									\
	if (regime_is_nopreempt()) {					\
		bool relaxed_ = regime_relax();				\
									\
		statement;						\
		regime_tighten(relaxed_);				\
	} else {							\
		statement;						\
	}								\
} while (0)

/* In this regime kvzalloc(), kvfree(), copy_from_user() and copy_to_user(); called with preemption
 * on they do just that. */
void *regime_alloc(size_t size);
void regime_free(void *ptr);
unsigned long regime_copy_in(void *dst, const void __user *src, size_t size);
unsigned long regime_copy_out(void __user *dst, const void *src, size_t size);

static inline unsigned long regime_copy_from_user(void *dst, const void __user *src, size_t size)
{
	return regime_is_nopreempt() ? regime_copy_in(dst, src, size) :
				       copy_from_user(dst, src, size);
}

#endif
