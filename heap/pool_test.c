// SPDX-License-Identifier: GPL-2.0
/* One pool: blocks are neither lost nor duplicated, also while the locking mode changes. */
#include "pool.h"

#include "check.h"

#include <sched.h>

#define THREADS 4
#define STEPS 20000
#define HELD_AT_MOST 32

static struct pool_block *new_block(void)
{
	return pool_host_block_alloc(false, 0, true, false);
}

static unsigned long free_chain(struct pool_block *block)
{
	struct pool_block *next;
	unsigned long nr = 0;

	for (; block; block = next, nr++) {
		next = pool_host_next(block);
		pool_host_block_free(block, false, 0);
	}
	return nr;
}

static unsigned long empty(struct pool *pool)
{
	struct pool_block *chain;
	unsigned long nr, total = 0;

	while ((chain = pool_remove(pool, POOL_BATCH, &nr)))
		total += free_chain(chain);
	return total;
}

TEST(empty_pool_takes_no_lock)
{
	struct pool pool;
	unsigned long nr;

	pool_init(&pool, false, 0);
	CHECK(!pool_remove(&pool, 1, &nr));
	CHECK(nr == 0);
	CHECK(fake.lock_tries == 0);
}

TEST(add_locks_in_mode_mutex_only)
{
	struct pool pool;

	pool_init(&pool, false, 0);
	pool_add(&pool, new_block());
	CHECK(fake.lock_tries == 0);
	fake.lockless = false;
	pool_add(&pool, new_block());
	CHECK(fake.lock_tries == 1);
	CHECK(pool_blocks(&pool) == 2);
	CHECK(empty(&pool) == 2);
}

TEST(a_removal_is_bounded)
{
	struct pool pool;
	unsigned long nr, i;

	pool_init(&pool, false, 0);
	for (i = 0; i < 3 * POOL_BATCH; i++)
		pool_add(&pool, new_block());
	CHECK(free_chain(pool_remove(&pool, 1000, &nr)) == POOL_BATCH);
	CHECK(nr == POOL_BATCH);
	CHECK(free_chain(pool_remove(&pool, 3, &nr)) == 3);
	CHECK(nr == 3);
	CHECK(!pool_remove(&pool, 0, &nr));
	CHECK(pool_blocks(&pool) == 2 * POOL_BATCH - 3);
	CHECK(empty(&pool) == 2 * POOL_BATCH - 3);
	CHECK(pool_blocks(&pool) == 0);
}

/* Blocks added in one locking mode can be removed in the other. */
TEST(locking_modes_share_the_blocks)
{
	struct pool pool;
	int i;

	pool_init(&pool, false, 0);
	for (i = 0; i < 10; i++) {
		fake.lockless = i % 2;
		pool_add(&pool, new_block());
	}
	CHECK(pool_blocks(&pool) == 10);
	CHECK(empty(&pool) == 10);
}

static void *add_one(void *pool)
{
	pool_add(pool, new_block());
	return NULL;
}

TEST(a_lock_found_taken_is_counted)
{
	struct pool pool;
	pthread_t thread;

	pool_init(&pool, false, 0);
	fake.lockless = false;
	pool_host_lock(&pool.mutex);
	pthread_create(&thread, NULL, add_one, &pool);
	while (!fake.lock_taken)
		sched_yield();
	CHECK(pool_host_read(&pool.taken[POOL_ADD]) == 1);
	pool_host_unlock(&pool.mutex);
	pthread_join(thread, NULL);
	CHECK(pool_host_read(&pool.taken[POOL_REMOVE]) == 0);
	CHECK(empty(&pool) == 1);
}

/* The purpose of mode lockless: adding never waits for the lock holder. */
TEST(a_lockless_add_does_not_wait)
{
	struct pool pool;
	pthread_t thread;

	pool_init(&pool, false, 0);
	pool_host_lock(&pool.mutex);
	pthread_create(&thread, NULL, add_one, &pool);
	pthread_join(thread, NULL);
	CHECK(pool_blocks(&pool) == 1);
	pool_host_unlock(&pool.mutex);
	CHECK(fake.lock_taken == 0);
	CHECK(empty(&pool) == 1);
}

struct worker {
	struct pool *pool;
	uint64_t seed;
	pthread_t thread;
	bool shrinks;
};

/* Takes blocks, writes to them, cleans and returns them, in random order. */
static void *work(void *arg)
{
	struct worker *worker = arg;
	struct pool_block *held[HELD_AT_MOST], *chain;
	unsigned long nr;
	unsigned int nr_held = 0, step;

	for (step = 0; step < STEPS; step++) {
		uint32_t dice = unit_random(&worker->seed);

		if (dice % 1000 == 0)
			fake.lockless = !fake.lockless;
		if (worker->shrinks) {
			free_chain(pool_remove(worker->pool, dice % POOL_BATCH, &nr));
		} else if (nr_held && dice % 2) {
			held[--nr_held]->dirty = false;
			pool_add(worker->pool, held[nr_held]);
		} else if (nr_held < HELD_AT_MOST) {
			chain = pool_remove(worker->pool, 1, &nr);
			if (!chain)
				chain = new_block();
			if (chain->dirty)
				fake_fail("a block has two owners");
			chain->dirty = true;
			held[nr_held++] = chain;
		}
	}
	while (nr_held) {
		held[--nr_held]->dirty = false;
		pool_add(worker->pool, held[nr_held]);
	}
	return NULL;
}

TEST(threads_lose_nothing)
{
	struct worker workers[THREADS];
	struct pool pool;
	int i;

	pool_init(&pool, false, 0);
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ &pool, 88172645463325252u + (uint64_t)i, 0,
					      i == THREADS - 1 };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	CHECK((long)pool_blocks(&pool) == fake.blocks_out);
	CHECK((long)pool_blocks(&pool) == fake.pages_pooled);
	empty(&pool);
	CHECK(pool_blocks(&pool) == 0);
}
