// SPDX-License-Identifier: GPL-2.0
/*
 * Counters shared by all threads would be contended themselves and change the result. So there are
 * as many sets as threads may run at the same time, and host_shard() names one that no other
 * running thread is likely to use. If two do, the sums are still right.
 */
#include "locking.h"

#include "common/lock.h"

#define SHARDS 64
#define COUNTED_MUTEX 0 /* the mutex of a mode; others have their rank, which is from 1 on */

const char *const locking_mode_names[NR_MODES] = {
	[MODE_FINE] = "fine",
	[MODE_GLOBAL] = "global",
	[MODE_GLOBAL_NOPREEMPT] = "global-nopreempt",
};

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

struct shard {
	struct host_atomic taken[RANK_COUNT];
	struct host_atomic waited[RANK_COUNT];
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];

enum locking_mode locking_mode_by_name(const char *name)
{
	size_t size = host_strlen(name) + 1;
	int i;

	for (i = 0; i < NR_MODES; i++) {
		if (size == host_strlen(locking_mode_names[i]) + 1 &&
		    !host_memcmp(name, locking_mode_names[i], size))
			break;
	}
	return (enum locking_mode)i;
}

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
		waited = !locking_mutex_trylock();
		count_lock(COUNTED_MUTEX, waited);
		if (!waited)
			return true;
	}
	locking_mutex_lock();
	return true;
}

void locking_spin_lock_counted(struct binder_lock *lock)
{
	bool waited = !locking_spin_trylock(&lock->raw);

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

bool locking_counts(u32 nr, struct locking_counts *counts)
{
	u32 i;

	if (nr >= RANK_COUNT)
		return false;
	*counts = (struct locking_counts){ .name = lock_names[nr] };
	for (i = 0; i < SHARDS; i++) {
		counts->taken += (u32)host_atomic_read(&shards[i].taken[nr]);
		counts->waited += (u32)host_atomic_read(&shards[i].waited[nr]);
	}
	return true;
}

void locking_counts_reset(void)
{
	u32 i, nr;

	for (i = 0; i < SHARDS; i++) {
		for (nr = 0; nr < RANK_COUNT; nr++) {
			host_atomic_set(&shards[i].taken[nr], 0);
			host_atomic_set(&shards[i].waited[nr], 0);
		}
	}
}
