// SPDX-License-Identifier: GPL-2.0
/*
 * Preemption is off from before the mutex is tried until it has been let go. It must be on
 * where something sleeps, and whoever gets the CPU then finds the mutex taken: that is the price of
 * this regime, and why everything is first tried without sleeping.
 */
#include "regime_hold.h"

#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/slab.h>

DEFINE_STATIC_KEY_FALSE(regime_global);
DEFINE_STATIC_KEY_FALSE(regime_nopreempt);

/* Preemption is off on this CPU for the regime's sake: what runs here has the mutex, or tries. */
static DEFINE_PER_CPU(bool, pinned_cpu);

/* Is it the calling thread's doing? */
static bool pinned_here(void)
{
	return this_cpu_read(pinned_cpu);
}

void regime_pin(void)
{
	preempt_disable();
	this_cpu_write(pinned_cpu, true);
}

void regime_unpin(void)
{
	this_cpu_write(pinned_cpu, false);
	preempt_enable();
}

bool regime_relax(void)
{
	bool relaxed = pinned_here();

	if (relaxed)
		regime_unpin();
	return relaxed;
}

void regime_tighten(bool relaxed)
{
	if (relaxed)
		regime_pin();
}

void *regime_alloc(size_t size)
{
	void *ptr = NULL;

	if (pinned_here())
		ptr = kzalloc(size, GFP_NOWAIT | __GFP_NOWARN);
	if (!ptr)
		regime_may_sleep(ptr = kvzalloc(size, GFP_KERNEL));
	return ptr;
}

void regime_free(void *ptr)
{
	if (is_vmalloc_addr(ptr))
		regime_may_sleep(kvfree(ptr));
	else
		kfree(ptr);
}

unsigned long regime_copy_in(void *dst, const void __user *src, size_t size)
{
	unsigned long left = size;

	if (pinned_here()) {
		pagefault_disable();
		left = copy_from_user(dst, src, size);
		pagefault_enable();
	}
	if (left)
		regime_may_sleep(left = copy_from_user(dst, src, size));
	return left;
}

unsigned long regime_copy_out(void __user *dst, const void *src, size_t size)
{
	unsigned long left = size;

	if (pinned_here()) {
		pagefault_disable();
		left = copy_to_user(dst, src, size);
		pagefault_enable();
	}
	if (left)
		regime_may_sleep(left = copy_to_user(dst, src, size));
	return left;
}
