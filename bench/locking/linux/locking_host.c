// SPDX-License-Identifier: GPL-2.0
/*
 * Two more parameters of the module, and the mutex. A thread that sleeps in `global-nopreempt`
 * keeps the mutex, and the thread that gets the CPU may then find it taken: that is the price of
 * this mode.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "locking.h"

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>

DEFINE_STATIC_KEY_FALSE(locking_counted);
DEFINE_STATIC_KEY_FALSE(locking_global);
DEFINE_STATIC_KEY_FALSE(locking_nopreempt);
DEFINE_PER_CPU(bool, locking_pinned);

static DEFINE_MUTEX(global_mutex);
static enum locking_mode mode;

void locking_pin(void)
{
	preempt_disable();
	this_cpu_write(locking_pinned, true);
}

void locking_unpin(void)
{
	this_cpu_write(locking_pinned, false);
	preempt_enable();
}

void locking_mutex_lock(void)
{
	if (mode == MODE_GLOBAL) {
		mutex_lock(&global_mutex);
	} else if (!locking_mutex_trylock()) {
		mutex_lock(&global_mutex);
		locking_pin();
	}
}

bool locking_mutex_trylock(void)
{
	bool taken;

	if (mode == MODE_GLOBAL_NOPREEMPT)
		locking_pin();
	taken = mutex_trylock(&global_mutex);
	if (!taken && mode == MODE_GLOBAL_NOPREEMPT)
		locking_unpin();
	return taken;
}

void locking_mutex_unlock(void)
{
	mutex_unlock(&global_mutex);
	if (mode == MODE_GLOBAL_NOPREEMPT)
		locking_unpin();
}

static int set_locking(const char *name, const struct kernel_param *param)
{
	mode = locking_mode_by_name(name);
	if (mode == NR_MODES) {
		pr_err("no locking mode '%s': use locking=fine, global or global-nopreempt\n",
		       name);
		return -EINVAL;
	}
	/* There, spinlocks sleep as well. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && mode == MODE_GLOBAL_NOPREEMPT) {
		pr_err("locking=%s is not possible on a PREEMPT_RT kernel: use fine or global\n",
		       name);
		return -EINVAL;
	}
	if (mode != MODE_FINE)
		static_branch_enable(&locking_global);
	if (mode == MODE_GLOBAL_NOPREEMPT)
		static_branch_enable(&locking_nopreempt);
	return 0;
}

static int get_locking(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%s\n", locking_mode_names[mode]);
}

static const struct kernel_param_ops locking_ops = { .set = set_locking, .get = get_locking };
module_param_cb(locking, &locking_ops, NULL, 0444);
MODULE_PARM_DESC(locking, "fine (the default), or global or global-nopreempt: one mutex held "
			  "during each call");

static int set_count_locks(const char *value, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(value, &on);

	if (err)
		return err;
	if (!on) {
		static_branch_disable(&locking_counted);
		return 0;
	}
	locking_counts_reset();
	static_branch_enable(&locking_counted);
	return 0;
}

static int get_count_locks(char *text, const struct kernel_param *param)
{
	struct locking_counts counts;
	int size = 0;
	u32 i;

	for (i = 0; locking_counts(i, &counts); i++)
		size += scnprintf(text + size, PAGE_SIZE - size, "%s taken %u waited %u\n",
				  counts.name, counts.taken, counts.waited);
	return size;
}

static const struct kernel_param_ops count_locks_ops = {
	.set = set_count_locks,
	.get = get_count_locks,
};
module_param_cb(count_locks, &count_locks_ops, NULL, 0644);
MODULE_PARM_DESC(count_locks, "1: count from now on how often each lock is taken and contended; "
			      "0: stop; read: the counts");
