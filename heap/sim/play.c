// SPDX-License-Identifier: GPL-2.0
/*
 * The seed determines the number of fibers, the frequency of their actions (add, take, shrink,
 * drain, change the locking mode), and which fiber runs at each operation of the pools.
 *
 * Each block records its state: with the system, held by one fiber, or pooled. So a block that is
 * handed out twice, or used by a fiber that does not own it, is detected at once. Lost blocks are
 * detected by audits while the lock is free, and at the end, when the last fiber counts, empties
 * the pools and counts again.
 */
#include "play.h"

#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4096
/* Pages of the system; half of the seeds have few, so that allocations fail. */
#define PAGES_MAX 4096L
#define PAGES_FEW 700L
#define ACTORS_MAX 6
#define HELD_MAX 24
#define EVERYTHING 1000000UL
/* Refilling an empty stock and detaching a whole batch uses each link twice, and a few more. */
#define LOCKED_STEPS_MAX (2 * POOL_BATCH + 4)

struct actor {
	struct fiber *fiber;
	u32 weights[5];		/* of the acts */
	u32 steps;
	bool adding, removing;
	bool refused;		/* the system had no block */
	bool lockless;		/* locking mode that the current call has seen */
	bool locked;
	u32 steps_locked;
	unsigned long freed_pages;
	struct pool_block *held[HELD_MAX];
	u32 nr_held;
};

struct fake_system fake;

static struct pool_block blocks[BLOCKS];
static struct actor actors[ACTORS_MAX];
static u32 nr_actors, nr_left, last_block;
static u64 empties;		/* how often the pool was observed empty */
static long all_pages;		/* of the system */
static struct pool pool;
static struct store store;

void fake_fail(const char *what)
{
	fprintf(stderr, "heap-sim: %s\n", what);
	abort();
}

/* ---- the fake system -------------------------------------------------------------------- */

static struct actor *actor_self(void)
{
	struct actor *actor = actors;

	while (actor->fiber != fiber_current)
		actor++;
	return actor;
}

void fake_note_empty(void)
{
	empties += !pool.fresh.first && !pool.stock;
}

void fake_step(void)
{
	struct actor *self = actor_self();

	if (self->locked && ++self->steps_locked > LOCKED_STEPS_MAX)
		fake_fail("the lock is held for too many steps");
	fake_note_empty();
	fiber_point();
}

void fake_locked(bool locked)
{
	struct actor *self = actor_self();

	if (locked && self->adding && self->lockless)
		fake_fail("adding a block takes the lock in mode lockless");
	self->locked = locked;
	self->steps_locked = 0;
}

void fake_saw_locking(bool lockless)
{
	actor_self()->lockless = lockless;
}

struct pool_block *fake_block_alloc(bool uncached, unsigned int order, bool charged)
{
	long nr_pages = 1L << order;
	struct pool_block *block;

	actor_self()->refused = (order && fake.no_big_blocks) || fake.budget_pages < nr_pages;
	if (actor_self()->refused)
		return NULL;
	fake.budget_pages -= nr_pages;
	/* The block freed last is reused first, as in the kernel. */
	for (block = &blocks[last_block]; block->where != WITH_SYSTEM;)
		block = block == &blocks[BLOCKS - 1] ? blocks : block + 1;
	block->where = HELD;
	block->owner = fiber_current;
	block->order = order;
	block->uncached = uncached;
	block->charged = charged;
	return block;
}

void fake_block_free(struct pool_block *block)
{
	if (block->where != HELD || block->owner != fiber_current)
		fake_fail("a block was freed by a fiber that does not own it");
	block->where = WITH_SYSTEM;
	last_block = (u32)(block - blocks);
	fake.budget_pages += 1L << block->order;
	actor_self()->freed_pages += 1UL << block->order;
}

void fake_account_pooled(struct pool_block *block, unsigned int order, int sign)
{
	if (order != block->order || block->charged)
		fake_fail("a block is in the wrong pool");
	if (sign > 0 && (block->where != HELD || block->owner != fiber_current))
		fake_fail("a block was added by a fiber that does not own it");
	if (sign < 0 && block->where != POOLED)
		fake_fail("a block was handed out twice");
	block->where = sign > 0 ? POOLED : HELD;
	block->owner = fiber_current;
	block->pooled_at = 0;
	fake.happened[LAST_RESORT] += sign < 0 && !order && actor_self()->refused;
	fake.pooled_pages += sign * (1L << order);
}

/* ---- one pool --------------------------------------------------------------------------- */

static long block_length(struct pool_block *block)
{
	long nr = 0;

	for (; block; block = block->next) {
		if (block->where != POOLED)
			fake_fail("a block in the pool is not in state POOLED");
		if (++nr > BLOCKS)
			fake_fail("a list is cyclic");
	}
	return nr;
}

/* Checks the whole pool between two steps of other fibers. */
static void pool_audit(void)
{
	long adding = 0, removing = 0, counted = pool.adds.value - pool.removes.value;
	long there;
	u32 i;

	if (pool.mutex.lock.owner)
		return;
	for (i = 0; i < nr_actors; i++) {
		adding += actors[i].adding;
		removing += actors[i].removing;
	}
	there = block_length(pool.fresh.first) + block_length(pool.stock);
	if (counted < there || counted > there + adding + removing * POOL_BATCH)
		fake_fail("the counters disagree");
	if (fake.pooled_pages < there ||
	    fake.pooled_pages > there + adding + removing * POOL_BATCH)
		fake_fail("pooled blocks are lost");
}

static void actor_add(struct actor *self, struct pool_block *block)
{
	self->adding = true;
	pool_add(&pool, block);
	self->adding = false;
}

/* Removes a chain and checks it. */
static struct pool_block *remove_some(struct actor *self, unsigned long max, unsigned long *nr)
{
	u64 before = empties;
	struct pool_block *first, *block;
	unsigned long seen = 0;

	self->removing = true;
	fake_note_empty();
	first = pool_remove(&pool, max, nr);
	fake_note_empty();
	self->removing = false;
	for (block = first; block; block = pool_host_next(block))
		seen++;
	if (seen != *nr || seen > max || seen > POOL_BATCH)
		fake_fail("pool_remove() returned a wrong number of blocks");
	if (max && !first && empties == before)
		fake_fail("pool_remove() found nothing in a pool that was never empty");
	return first;
}

static void keep_or_free(struct actor *self, struct pool_block *block, bool keep)
{
	struct pool_block *next;

	for (; block; block = next) {
		next = pool_host_next(block);
		if (keep && self->nr_held < HELD_MAX)
			self->held[self->nr_held++] = block;
		else
			pool_host_block_free(block, false, 0);
	}
}

static void act_add(struct actor *self)
{
	struct pool_block *block;

	block = self->nr_held ? self->held[--self->nr_held] :
				pool_host_block_alloc(false, 0, true, false);
	actor_add(self, block);
}

static void act_take(struct actor *self)
{
	unsigned long nr;

	keep_or_free(self, remove_some(self, 1 + fiber_dice(&fake.dice, 3), &nr), true);
}

static void act_shrink(struct actor *self)
{
	unsigned long nr;

	keep_or_free(self, remove_some(self, fiber_dice(&fake.dice, 2 * POOL_BATCH), &nr), false);
}

static void act_drain(struct actor *self)
{
	unsigned long nr;

	do
		keep_or_free(self, remove_some(self, EVERYTHING, &nr), false);
	while (nr);
}

static void act_change_locking(struct actor *self)
{
	u32 i;

	fake.lockless = !fake.lockless;
	for (i = 0; i < nr_actors; i++)
		fake.happened[LOCKING_CHANGE] += actors[i].adding || actors[i].removing;
}

static void (*const pool_acts[])(struct actor *self) = {
	act_add, act_take, act_shrink, act_drain, act_change_locking,
};

static void check_pool_at_end(struct actor *self)
{
	long there;

	pool_audit();
	there = block_length(pool.fresh.first) + block_length(pool.stock);
	if ((long)pool_blocks(&pool) != there || fake.pooled_pages != there)
		fake_fail("the counters disagree at the end");
	act_drain(self);
	if (pool_blocks(&pool))
		fake_fail("a drained pool has blocks");
}

/* ---- a store ---------------------------------------------------------------------------- */

/* store_give() has returned: from here on its blocks must be found. */
static void note_pooled(void)
{
	u32 i;

	for (i = 0; i < BLOCKS; i++) {
		if (blocks[i].where == POOLED && blocks[i].owner == fiber_current &&
		    !blocks[i].pooled_at)
			blocks[i].pooled_at = fiber_points();
	}
}

/* store_take() has failed: no single page was in any pool since before it was called. */
static void check_no_memory(enum store_kind kind, u64 called_at)
{
	const struct pool *pools = store.pools[kind][STORE_ORDERS - 1];
	const struct pool_block *lists[2], *block;
	u32 i, j;

	fake.happened[NO_MEMORY]++;
	for (i = 0; i < STORE_POOLS; i++) {
		lists[0] = pools[i].fresh.first;
		lists[1] = pools[i].stock;
		for (j = 0; j < 2; j++) {
			for (block = lists[j]; block; block = block->next) {
				if (block->pooled_at && block->pooled_at < called_at)
					fake_fail("store_take() failed although a page was pooled");
			}
		}
	}
}

static void act_buffer(struct actor *self)
{
	enum store_kind kind = fiber_dice(&fake.dice, STORE_KINDS);
	unsigned long nr_pages = 1 + fiber_dice(&fake.dice, fake.no_big_blocks ? 40 : 700);
	bool charged = !fiber_dice(&fake.dice, 5);
	unsigned long pages = 0;
	u64 called_at = fiber_points();
	struct store_chain chain;
	struct pool_block *block;
	int err;

	self->refused = false;
	err = store_take(&store, kind, nr_pages, charged, &chain);
	if (err == -ENOMEM && !charged)
		check_no_memory(kind, called_at);
	if (err)
		return;
	for (block = chain.first; block; block = pool_host_next(block)) {
		if (block->where != HELD || block->owner != fiber_current)
			fake_fail("a buffer has a block that its fiber does not own");
		pages += 1UL << block->order;
	}
	if (pages != nr_pages)
		fake_fail("a buffer has the wrong size");
	if (charged || !fiber_dice(&fake.dice, 4))
		store_chain_free(kind, &chain);
	else
		store_give(&store, kind, &chain);
	note_pooled();
}

static void act_shrink_store(struct actor *self)
{
	unsigned long nr_pages = 1 + fiber_dice(&fake.dice, 600);
	unsigned long before = self->freed_pages;
	unsigned long freed = store_shrink(&store, nr_pages);

	if (freed != self->freed_pages - before || freed >= nr_pages + (1UL << store_orders[0]))
		fake_fail("store_shrink() returned a wrong number");
}

static void (*const store_acts[])(struct actor *self) = {
	act_buffer, act_buffer, act_buffer, act_shrink_store, act_change_locking,
};

static void check_store_at_end(void)
{
	long there = fake.pooled_pages;

	if ((long)store_pages(&store) != there)
		fake_fail("the counters disagree at the end");
	if ((long)store_shrink(&store, EVERYTHING) != there || store_pages(&store))
		fake_fail("a drained store has pages");
}

/* ---- a seed ----------------------------------------------------------------------------- */

static u32 actor_choose(struct actor *self)
{
	u32 i, sum = 0;

	for (i = 0; i < 5; i++)
		sum += self->weights[i];
	sum = fiber_dice(&fake.dice, sum);
	for (i = 0; sum >= self->weights[i]; i++)
		sum -= self->weights[i];
	return i;
}

/* Called by the last fiber. */
static void check_at_end(struct actor *self, bool one_pool)
{
	u32 i;

	if (one_pool)
		check_pool_at_end(self);
	else
		check_store_at_end();
	if (fake.budget_pages != all_pages || fake.pooled_pages)
		fake_fail("pages are lost");
	for (i = 0; i < BLOCKS; i++) {
		if (blocks[i].where != WITH_SYSTEM)
			fake_fail("a block is lost");
	}
}

static void actor_run(void *one_pool)
{
	struct actor *self = actor_self();

	while (self->steps--) {
		if (one_pool) {
			pool_acts[actor_choose(self)](self);
			pool_audit();
		} else {
			store_acts[actor_choose(self)](self);
		}
	}
	while (self->nr_held)
		actor_add(self, self->held[--self->nr_held]);
	if (--nr_left == 0)
		check_at_end(self, one_pool);
}

static bool no_idle_event(void *arg)
{
	return false;
}

u64 play(u64 seed)
{
	struct fiber_plan plan = { .seed = seed, .max_points = 4000000 };
	bool one_pool;
	u32 i, j;

	memset(&fake, 0, sizeof(fake));
	memset(actors, 0, sizeof(actors));
	fake.dice = ~seed;
	fake.lockless = fiber_dice(&fake.dice, 2);
	fake.no_big_blocks = fiber_dice(&fake.dice, 2);
	fake.killed_one_in = fiber_dice(&fake.dice, 2) * 64;
	one_pool = fiber_dice(&fake.dice, 4);
	all_pages = one_pool || fiber_dice(&fake.dice, 2) ? PAGES_MAX : PAGES_FEW;
	fake.budget_pages = all_pages;
	plan.policy = fiber_dice(&fake.dice, FIBER_POLICIES);
	plan.switch_one_in = 1 + fiber_dice(&fake.dice, 20);
	empties = last_block = 0;
	pool_init(&pool, false, 0);
	store_init(&store);

	fiber_begin(&plan);
	nr_actors = nr_left = 2 + fiber_dice(&fake.dice, ACTORS_MAX - 1);
	for (i = 0; i < nr_actors; i++) {
		for (j = 0; j < 5; j++)
			actors[i].weights[j] = 1 + fiber_dice(&fake.dice, j ? 8 : 20);
		actors[i].steps = (one_pool ? 10 : 2) + fiber_dice(&fake.dice, one_pool ? 40 : 6);
		actors[i].fiber = fiber_new("actor %d", (int)i, actor_run, one_pool ? &pool : NULL);
	}
	fiber_run(no_idle_event, NULL);
	return fiber_trace() ^ fiber_points();
}
