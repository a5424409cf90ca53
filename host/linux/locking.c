// SPDX-License-Identifier: GPL-2.0
/*
 * Preemption is off from before the mutex is tried until it has been let go. It must be on
 * where something sleeps, and whoever gets the CPU then finds the mutex taken: that is the price of
 * this regime, and why everything is first tried without sleeping.
 */
#include "locking.h"

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/slab.h>

DEFINE_STATIC_KEY_FALSE(locking_global);
DEFINE_STATIC_KEY_FALSE(locking_nopreempt);

/* Preemption is off on this CPU for the regime's sake: what runs here has the mutex, or tries. */
static DEFINE_PER_CPU(bool, pinned_cpu);

/* Is it the calling thread's doing? */
static bool pinned_here(void)
{
	return this_cpu_read(pinned_cpu);
}

static void locking_pin(void)
{
	preempt_disable();
	this_cpu_write(pinned_cpu, true);
}

static void locking_unpin(void)
{
	this_cpu_write(pinned_cpu, false);
	preempt_enable();
}

static DEFINE_MUTEX(global_mutex);

void locking_global_lock(void)
{
	if (!locking_is_nopreempt()) {
		mutex_lock(&global_mutex);
		return;
	}
	locking_pin();
	if (!mutex_trylock(&global_mutex))
		locking_may_sleep(mutex_lock(&global_mutex));
}

bool locking_global_trylock(void)
{
	bool taken;

	if (locking_is_nopreempt())
		locking_pin();
	taken = mutex_trylock(&global_mutex);
	if (!taken && locking_is_nopreempt())
		locking_unpin();
	return taken;
}

void locking_global_unlock(void)
{
	mutex_unlock(&global_mutex);
	if (locking_is_nopreempt())
		locking_unpin();
}

bool locking_relax(void)
{
	bool relaxed = pinned_here();

	if (relaxed)
		locking_unpin();
	return relaxed;
}

void locking_tighten(bool relaxed)
{
	if (relaxed)
		locking_pin();
}

void *locking_alloc(size_t size)
{
	void *ptr = NULL;

	if (pinned_here())
		ptr = kzalloc(size, GFP_NOWAIT | __GFP_NOWARN);
	if (!ptr)
		locking_may_sleep(ptr = kvzalloc(size, GFP_KERNEL));
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

	if (pinned_here()) {
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

	if (pinned_here()) {
		pagefault_disable();
		left = copy_to_user(dst, src, size);
		pagefault_enable();
	}
	if (left)
		locking_may_sleep(left = copy_to_user(dst, src, size));
	return left;
}
