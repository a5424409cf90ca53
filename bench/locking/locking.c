// SPDX-License-Identifier: GPL-2.0
/*
 * Two more parameters of the module, and the mutex. A thread that sleeps in `global-nopreempt`
 * keeps the mutex, and the thread that gets the CPU may then find it taken: that is the price of
 * this mode.
 *
 * Counters shared by all threads would be contended themselves and change the result. So there are
 * as many sets as threads may run at the same time, and host_shard() names one that no other
 * running thread is likely to use. If two do, the sums are still right.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "locking.h"

#include "common/lock.h"

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/string.h>

/* ---- the mutex ---------------------------------------------------------------------------- */

enum { MODE_FINE, MODE_GLOBAL, MODE_GLOBAL_NOPREEMPT };

static const char *const mode_names[] = { "fine", "global", "global-nopreempt" };

DEFINE_STATIC_KEY_FALSE(locking_counted);
DEFINE_STATIC_KEY_FALSE(locking_global);
DEFINE_STATIC_KEY_FALSE(locking_nopreempt);
DEFINE_PER_CPU(bool, locking_pinned);

static DEFINE_MUTEX(global_mutex);
static int mode;

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

static bool global_trylock(void)
{
	bool taken;

	if (mode == MODE_GLOBAL_NOPREEMPT)
		locking_pin();
	taken = mutex_trylock(&global_mutex);
	if (!taken && mode == MODE_GLOBAL_NOPREEMPT)
		locking_unpin();
	return taken;
}

static void global_lock(void)
{
	if (mode == MODE_GLOBAL) {
		mutex_lock(&global_mutex);
	} else if (!global_trylock()) {
		mutex_lock(&global_mutex);
		locking_pin();
	}
}

void locking_leave(const bool *entered)
{
	if (!*entered)
		return;
	mutex_unlock(&global_mutex);
	if (mode == MODE_GLOBAL_NOPREEMPT)
		locking_unpin();
}

static int set_locking(const char *name, const struct kernel_param *param)
{
	int wanted = sysfs_match_string(mode_names, name);

	if (wanted < 0) {
		pr_err("no locking mode '%s': use locking=fine, global or global-nopreempt\n",
		       name);
		return -EINVAL;
	}
	/* There, spinlocks sleep as well. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && wanted == MODE_GLOBAL_NOPREEMPT) {
		pr_err("locking=%s is not possible on a PREEMPT_RT kernel: use fine or global\n",
		       name);
		return -EINVAL;
	}
	mode = wanted;
	if (mode != MODE_FINE)
		static_branch_enable(&locking_global);
	if (mode == MODE_GLOBAL_NOPREEMPT)
		static_branch_enable(&locking_nopreempt);
	return 0;
}

static int get_locking(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%s\n", mode_names[mode]);
}

static const struct kernel_param_ops locking_ops = { .set = set_locking, .get = get_locking };
module_param_cb(locking, &locking_ops, NULL, 0444);
MODULE_PARM_DESC(locking, "fine (the default), or global or global-nopreempt: one mutex held "
			  "during each call");

/* ---- counts ------------------------------------------------------------------------------- */

#define SHARDS 64
#define COUNTED_MUTEX 0 /* the mutex of a mode; others have their rank, which is from 1 on */

static const char *const lock_names[RANK_COUNT] = {
	[COUNTED_MUTEX] = "global",
	[RANK_WORLD] = "world",
	[RANK_PAGES] = "pages",
	[RANK_CONTEXT] = "context",
	[RANK_OUTER] = "outer",
	[RANK_NODE] = "node",
	[RANK_INNER] = "inner",
	[RANK_TRANSACTION] = "transaction",
	[RANK_ALLOC] = "alloc",
	[RANK_LOG] = "log",
};

static struct shard {
	struct host_atomic taken[RANK_COUNT];
	struct host_atomic waited[RANK_COUNT];
} __attribute__((aligned(64))) shards[SHARDS];

/* Before waiting, so that a test can see that a thread waits. */
static void count_lock(u32 nr, bool waited)
{
	struct shard *shard = &shards[host_shard() % SHARDS];

	host_atomic_add(&shard->taken[nr], 1);
	if (waited)
		host_atomic_add(&shard->waited[nr], 1);
}

bool locking_enter_global(void)
{
	bool waited;

	if (locking_is_counting()) {
		waited = !global_trylock();
		count_lock(COUNTED_MUTEX, waited);
		if (!waited)
			return true;
	}
	global_lock();
	return true;
}

void locking_spin_lock_counted(struct binder_lock *lock)
{
	bool waited = !spin_trylock(&lock->raw.lock);

	count_lock(lock->rank, waited);
	if (waited)
		host_spin_lock(&lock->raw);
}

void locking_pi_mutex_lock_counted(struct binder_pi_mutex *lock)
{
	bool waited = !host_pi_mutex_trylock(&lock->raw);

	count_lock(lock->rank, waited);
	if (waited)
		host_pi_mutex_lock(&lock->raw);
}

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
	memset(shards, 0, sizeof(shards));
	static_branch_enable(&locking_counted);
	return 0;
}

static int get_count_locks(char *text, const struct kernel_param *param)
{
	int size = 0;
	u32 nr, i;

	for (nr = 0; nr < RANK_COUNT; nr++) {
		u32 taken = 0, waited = 0;

		for (i = 0; i < SHARDS; i++) {
			taken += (u32)host_atomic_read(&shards[i].taken[nr]);
			waited += (u32)host_atomic_read(&shards[i].waited[nr]);
		}
		size += scnprintf(text + size, PAGE_SIZE - size, "%s taken %u waited %u\n",
				  lock_names[nr], taken, waited);
	}
	return size;
}

static const struct kernel_param_ops count_locks_ops = {
	.set = set_count_locks,
	.get = get_count_locks,
};
module_param_cb(count_locks, &count_locks_ops, NULL, 0644);
MODULE_PARM_DESC(count_locks, "1: count from now on how often each lock is taken and contended; "
			      "0: stop; read: the counts");
