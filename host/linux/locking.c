// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that sleeps in `global-nopreempt` keeps the mutex, and the thread that gets the CPU may
 * then find it taken: that is the price of this mode.
 */
#include "locking.h"

#include "core.h"

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/slab.h>

DEFINE_STATIC_KEY_FALSE(locking_counted);
DEFINE_STATIC_KEY_FALSE(locking_global);
DEFINE_STATIC_KEY_FALSE(locking_nopreempt);

struct lock_class_key locking_classes[LOCKING_CLASSES];

static DEFINE_MUTEX(global_mutex);

/* Preemption is off on this CPU because of the mode: the running thread owns the mutex, or is
 * about to take it. */
static DEFINE_PER_CPU(bool, pinned);

void locking_init(void)
{
	if (binder_locking_mode_chosen() != LOCKING_FINE)
		static_branch_enable(&locking_global);
	if (binder_locking_mode_chosen() == LOCKING_GLOBAL_NOPREEMPT)
		static_branch_enable(&locking_nopreempt);
}

static void pin(void)
{
	preempt_disable();
	this_cpu_write(pinned, true);
}

static void unpin(void)
{
	this_cpu_write(pinned, false);
	preempt_enable();
}

bool locking_begin_sleep(void)
{
	bool begun = this_cpu_read(pinned);

	if (begun)
		unpin();
	return begun;
}

void locking_end_sleep(bool begun)
{
	if (begun)
		pin();
}

void locking_global_lock(void)
{
	if (!locking_is_nopreempt()) {
		mutex_lock(&global_mutex);
		return;
	}
	pin();
	if (!mutex_trylock(&global_mutex))
		locking_may_sleep(mutex_lock(&global_mutex));
}

bool locking_global_trylock(void)
{
	bool taken;

	if (locking_is_nopreempt())
		pin();
	taken = mutex_trylock(&global_mutex);
	if (!taken && locking_is_nopreempt())
		unpin();
	return taken;
}

void locking_global_unlock(void)
{
	mutex_unlock(&global_mutex);
	if (locking_is_nopreempt())
		unpin();
}

void *locking_alloc(size_t size)
{
	void *ptr = NULL;

	if (this_cpu_read(pinned))
		ptr = kzalloc(size, GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!ptr)
		locking_may_sleep(ptr = kvzalloc(size, GFP_KERNEL_ACCOUNT));
	return ptr;
}

void locking_free(void *ptr)
{
	if (is_vmalloc_addr(ptr))
		locking_may_sleep(kvfree(ptr));
	else
		kfree(ptr);
}

unsigned long locking_copy_in(void *dst, const void __user *src, size_t size)
{
	unsigned long left = size;

	if (this_cpu_read(pinned)) {
		pagefault_disable();
		left = copy_from_user(dst, src, size);
		pagefault_enable();
	}
	if (left)
		locking_may_sleep(left = copy_from_user(dst, src, size));
	return left;
}

unsigned long locking_copy_out(void __user *dst, const void *src, size_t size)
{
	unsigned long left = size;

	if (this_cpu_read(pinned)) {
		pagefault_disable();
		left = copy_to_user(dst, src, size);
		pagefault_enable();
	}
	if (left)
		locking_may_sleep(left = copy_to_user(dst, src, size));
	return left;
}
