// SPDX-License-Identifier: GPL-2.0
/*
 * Counters shared by all threads would be contended themselves and change the result.
 * So there are as many sets as threads may run at the same time, and host_shard() names
 * one that no other running thread is likely to use. If two do, the sums are still
 * right.
 */
#include "common/contention.h"

#define SHARDS 64

struct shard {
	unsigned long taken[RANK_COUNT];
	unsigned long waited[RANK_COUNT];
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];

void binder_contention_count(enum binder_lock_rank rank, bool waited)
{
	struct shard *shard = &shards[host_shard() % SHARDS];

	__atomic_fetch_add(&shard->taken[rank], 1, __ATOMIC_RELAXED);
	if (waited)
		__atomic_fetch_add(&shard->waited[rank], 1, __ATOMIC_RELAXED);
}

/* Counted before waiting, so that a test can see that a thread waits. */
void binder_lock_counted(struct binder_lock *lock) ACQUIRE_LOCK(lock) NO_TSA
{
	if (host_spin_trylock(&lock->raw)) {
		binder_contention_count(lock->rank, false);
		return;
	}
	binder_contention_count(lock->rank, true);
	host_spin_lock(&lock->raw);
}

void binder_pi_mutex_lock_counted(struct binder_pi_mutex *lock) NO_TSA
{
	bool waited = !host_pi_mutex_trylock(&lock->raw);

	binder_contention_count(lock->rank, waited);
	if (waited)
		host_pi_mutex_lock(&lock->raw);
}

struct binder_contention binder_contention_of(enum binder_lock_rank rank)
{
	struct binder_contention sum = { 0 };
	u32 i;

	for (i = 0; i < SHARDS; i++) {
		sum.taken += __atomic_load_n(&shards[i].taken[rank], __ATOMIC_RELAXED);
		sum.waited += __atomic_load_n(&shards[i].waited[rank], __ATOMIC_RELAXED);
	}
	return sum;
}

void binder_contention_reset(void)
{
	u32 i, rank;

	for (i = 0; i < SHARDS; i++) {
		for (rank = 0; rank < RANK_COUNT; rank++) {
			__atomic_store_n(&shards[i].taken[rank], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&shards[i].waited[rank], 0, __ATOMIC_RELAXED);
		}
	}
}
