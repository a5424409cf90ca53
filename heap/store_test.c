// SPDX-License-Identifier: GPL-2.0
/* Chains of blocks: their sizes, failed allocations, and pooling. */
#include "store.h"

#include "check.h"

#include <errno.h>
#include <sched.h>

#define MANY 100000UL

static unsigned long pages_of(const struct store_chain *chain)
{
	struct pool_block *block;
	unsigned long nr_pages = 0, nr_blocks = 0;

	for (block = chain->first; block; block = pool_host_next(block)) {
		nr_pages += 1UL << block->order;
		nr_blocks++;
		if (!pool_host_next(block))
			CHECK(block == chain->last);
	}
	CHECK(nr_blocks == chain->nr_blocks);
	return nr_pages;
}

TEST(largest_blocks_first)
{
	struct store store;
	struct store_chain chain;

	store_init(&store);
	REQUIRE(!store_take(&store, STORE_CACHED, 256 + 16 * 3 + 5, false, &chain));
	CHECK(pages_of(&chain) == 256 + 16 * 3 + 5);
	CHECK(chain.nr_blocks == 1 + 3 + 5);
	CHECK(chain.first->order == 8 && chain.last->order == 0);
	CHECK(store_chain_free(STORE_CACHED, &chain) == 256 + 16 * 3 + 5);
	CHECK(!chain.first && !chain.nr_blocks);
}

TEST(small_blocks_where_there_are_no_big_ones)
{
	struct store store;
	struct store_chain chain;

	store_init(&store);
	fake.no_big_blocks = true;
	REQUIRE(!store_take(&store, STORE_CACHED, 600, false, &chain));
	CHECK(chain.nr_blocks == 600);
	store_give(&store, STORE_CACHED, &chain);
	CHECK(store_pages(&store) == 600);
	CHECK(store_shrink(&store, MANY) == 600);
}

TEST(what_was_given_is_taken_again)
{
	struct store store;
	struct store_chain chain;
	long blocks;

	store_init(&store);
	REQUIRE(!store_take(&store, STORE_UNCACHED, 777, false, &chain));
	store_give(&store, STORE_UNCACHED, &chain);
	CHECK(store_pages(&store) == 777);
	blocks = fake.blocks_out;
	REQUIRE(!store_take(&store, STORE_UNCACHED, 777, false, &chain));
	CHECK(fake.blocks_out == blocks);
	CHECK(store_pages(&store) == 0);
	/* the other kind has pools of its own */
	store_give(&store, STORE_UNCACHED, &chain);
	REQUIRE(!store_take(&store, STORE_CACHED, 777, false, &chain));
	CHECK(fake.blocks_out == 2 * blocks);
	store_chain_free(STORE_CACHED, &chain);
	store_shrink(&store, MANY);
}

TEST(charged_pages_are_not_pooled)
{
	struct store store;
	struct store_chain chain;

	store_init(&store);
	REQUIRE(!store_take(&store, STORE_CACHED, 300, false, &chain));
	store_give(&store, STORE_CACHED, &chain);
	REQUIRE(!store_take(&store, STORE_CACHED, 300, true, &chain));
	CHECK(store_pages(&store) == 300);
	CHECK(chain.first->charged && chain.last->charged);
	store_chain_free(STORE_CACHED, &chain);
	/* nor after a failure */
	fake.alloc_budget = 400;
	CHECK(store_take(&store, STORE_CACHED, 500, true, &chain) == -ENOMEM);
	CHECK(store_pages(&store) == 300);
	store_shrink(&store, MANY);
}

/* Memory runs out after each possible number of pages: all pages taken so far are pooled. */
TEST(no_memory_anywhere)
{
	struct store store;
	struct store_chain chain;
	long budget;

	store_init(&store);
	for (budget = 0; budget < 300; budget++) {
		fake.alloc_budget = budget;
		CHECK(store_take(&store, STORE_CACHED, 300, false, &chain) == -ENOMEM);
		CHECK(!chain.first);
		CHECK((long)store_pages(&store) == budget);
		CHECK((long)store_shrink(&store, MANY) == budget);
	}
	fake.alloc_budget = 300;
	REQUIRE(!store_take(&store, STORE_CACHED, 300, false, &chain));
	store_chain_free(STORE_CACHED, &chain);
}

TEST(killed_anywhere)
{
	struct store store;
	struct store_chain chain;
	int calls;

	store_init(&store);
	fake.no_big_blocks = true;
	for (calls = 0; calls < 40; calls++) {
		fake.killed_in = calls;
		CHECK(store_take(&store, STORE_CACHED, 40, false, &chain) == -EINTR);
		store_shrink(&store, MANY);
		CHECK(fake.blocks_out == 0);
	}
}

TEST(shrinking_gives_what_was_asked_for)
{
	struct store store;
	struct store_chain chain;

	store_init(&store);
	CHECK(store_shrink(&store, 1) == 0);
	REQUIRE(!store_take(&store, STORE_CACHED, 10 * 256 + 40, false, &chain));
	store_give(&store, STORE_CACHED, &chain);
	CHECK(store_shrink(&store, 8) == 8);		/* eight single pages */
	CHECK(store_shrink(&store, 32) == 32);		/* two blocks of 16 */
	CHECK(store_shrink(&store, 300) == 512);	/* whole blocks */
	CHECK(store_pages(&store) == 8 * 256);
	CHECK(store_shrink(&store, MANY) == 8 * 256);
}

/* A buffer of @nr_pages single pages, allocated by @cpu. */
static void take_pages(struct store *store, unsigned int cpu, unsigned long nr_pages,
		       struct store_chain *chain)
{
	fake.no_big_blocks = true;
	fake.cpu = cpu;
	REQUIRE(!store_take(store, STORE_CACHED, nr_pages, false, chain));
	CHECK(pages_of(chain) == nr_pages);
}

static unsigned long pages_at(struct store *store, unsigned int nr)
{
	return pool_blocks(&store->pools[STORE_CACHED][STORE_ORDERS - 1][nr]);
}

/* Wherever it is freed; the numbers of CPUs may be higher than that of the pools. */
TEST(a_buffer_returns_to_the_cpu_that_allocated_it)
{
	struct store_chain chains[2];
	struct store store;

	store_init(&store);
	take_pages(&store, 2, 30, &chains[0]);
	take_pages(&store, STORE_POOLS + 3, 40, &chains[1]);
	fake.cpu = 1;
	store_give(&store, STORE_CACHED, &chains[0]);
	store_give(&store, STORE_CACHED, &chains[1]);
	CHECK(pages_at(&store, 2) == 30);
	CHECK(pages_at(&store, 3) == 40);
	CHECK(store_pages(&store) == 70);
	CHECK(store_blocks(&store, STORE_CACHED, STORE_ORDERS - 1) == 70);
	CHECK(store_shrink(&store, 50) == 50);
	CHECK(store_shrink(&store, MANY) == 20);
}

TEST(a_cpu_is_left_its_reserve)
{
	struct store_chain chain;
	struct store store;
	long blocks = STORE_RESERVE + 1;

	store_init(&store);
	take_pages(&store, 5, STORE_RESERVE + 1, &chain);
	store_give(&store, STORE_CACHED, &chain);
	take_pages(&store, 6, 1, &chain);
	CHECK(fake.blocks_out == blocks);
	CHECK(store_pages(&store) == STORE_RESERVE);
	store_chain_free(STORE_CACHED, &chain);
	blocks--;
	take_pages(&store, 6, 10, &chain);
	CHECK(fake.blocks_out == blocks + 10);
	CHECK(store_pages(&store) == STORE_RESERVE);
	store_chain_free(STORE_CACHED, &chain);
	take_pages(&store, 5, 10, &chain);
	CHECK(fake.blocks_out == blocks);
	store_chain_free(STORE_CACHED, &chain);
	store_shrink(&store, MANY);
}

/* When the system has no memory each CPU has all pooled pages. */
TEST(a_reserve_is_no_reason_to_fail)
{
	struct store_chain chain;
	struct store store;
	unsigned int cpu;

	store_init(&store);
	for (cpu = 0; cpu < STORE_POOLS; cpu++) {
		fake.alloc_budget = 300;
		fake.cpu = cpu;
		REQUIRE(!store_take(&store, STORE_CACHED, 300, false, &chain));
		store_give(&store, STORE_CACHED, &chain);
		CHECK(fake.alloc_budget == 0);
		fake.cpu = cpu + 1;
		REQUIRE(!store_take(&store, STORE_CACHED, 300, false, &chain));
		CHECK(pages_of(&chain) == 300);
		CHECK(store_pages(&store) == 0);
		CHECK(chain.first->order == 8);
		store_chain_free(STORE_CACHED, &chain);
	}
}

TEST(in_mode_mutex_one_pool_is_used)
{
	struct store_chain chain;
	struct store store;

	store_init(&store);
	take_pages(&store, 4, 20, &chain);
	fake.lockless = false;
	store_give(&store, STORE_CACHED, &chain);
	CHECK(pages_at(&store, 0) == 20);
	take_pages(&store, 4, 20, &chain);
	CHECK(fake.blocks_out == 20);
	/* its pools are those of the mode it was allocated in */
	fake.lockless = true;
	store_give(&store, STORE_CACHED, &chain);
	CHECK(pages_at(&store, 0) == 20);
	store_shrink(&store, MANY);
}

struct app {
	struct store *store;
	uint64_t seed;
	pthread_t thread;
};

static void dirty(struct store_chain *chain, bool value)
{
	struct pool_block *block;

	for (block = chain->first; block; block = pool_host_next(block)) {
		if (block->dirty == value)
			fake_fail("a block has two owners");
		block->dirty = value;
	}
}

static void *run_app(void *arg)
{
	struct app *app = arg;
	struct store_chain chain;
	int step;

	for (step = 0; step < 800; step++) {
		uint32_t dice = unit_random(&app->seed);
		enum store_kind kind = dice % STORE_KINDS;
		bool charged = dice % 5 == 0;

		fake.cpu = dice % 11;
		if (dice % 50 == 0)
			store_shrink(app->store, dice % 1024);
		if (store_take(app->store, kind, 1 + dice % 700, charged, &chain))
			continue;
		dirty(&chain, true);
		sched_yield();
		dirty(&chain, false);
		if (charged)
			store_chain_free(kind, &chain);
		else
			store_give(app->store, kind, &chain);
	}
	return NULL;
}

TEST(applications_come_and_go)
{
	struct app apps[4];
	struct store store;
	int i;

	store_init(&store);
	fake.alloc_budget = 4000;
	for (i = 0; i < 4; i++) {
		apps[i] = (struct app){ &store, 77777777777u + (uint64_t)i, 0 };
		pthread_create(&apps[i].thread, NULL, run_app, &apps[i]);
	}
	for (i = 0; i < 4; i++)
		pthread_join(apps[i].thread, NULL);
	CHECK((long)store_pages(&store) == fake.pages_pooled);
	store_shrink(&store, MANY);
	CHECK(fake.alloc_budget == 4000);
}
