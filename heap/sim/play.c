// SPDX-License-Identifier: GPL-2.0
/*
 * The dice of a seed say how many fibers there are, what each likes to do (bring, take, shrink,
 * drain, change the regime) and who runs at each operation of the pools.
 *
 * Each block knows where it is: with the system, held by one fiber, or at rest in a pool. So what
 * is handed out twice, or touched by somebody who does not own it, is found on the spot. What is
 * lost is found by whoever looks while nobody has the lock, and at the end, when the last fiber
 * counts, empties the pools and counts again.
 */
#include "play.h"

#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4096
#define BUDGET_PAGES 4096L
#define ACTORS_MAX 6
#define HELD_MAX 24
#define EVERYTHING 1000000UL
/* A remover that finds the stock empty and cuts a whole batch: each link twice, and some more. */
#define LOCKED_STEPS_MAX (2 * POOL_BATCH + 4)

struct actor {
	struct fiber *fiber;
	u32 weights[5];		/* of the acts */
	u32 steps;
	bool adding, removing;
	bool lockless;		/* what the call under way was told of the regime */
	bool locked;
	u32 steps_locked;
	unsigned long freed_pages;
	struct pool_block *held[HELD_MAX];
	u32 nr_held;
};

struct home home;

static struct pool_block blocks[BLOCKS];
static struct actor actors[ACTORS_MAX];
static u32 nr_actors, nr_left, last_block;
static u64 empties;		/* how often the pool was seen to be empty */
static struct pool pool;
static struct store store;

void home_broken(const char *what)
{
	fprintf(stderr, "the pools are broken: %s\n", what);
	abort();
}

/* ---- the home --------------------------------------------------------------------------- */

static struct actor *myself(void)
{
	struct actor *actor = actors;

	while (actor->fiber != fiber_current)
		actor++;
	return actor;
}

void home_note_empty(void)
{
	empties += !pool.fresh.first && !pool.stock;
}

void home_step(void)
{
	struct actor *self = myself();

	if (self->locked && ++self->steps_locked > LOCKED_STEPS_MAX)
		home_broken("the lock is held for too long");
	home_note_empty();
	fiber_point();
}

void home_locked(bool locked)
{
	struct actor *self = myself();

	if (locked && self->adding && self->lockless)
		home_broken("an adder of the lock-less regime takes the lock");
	self->locked = locked;
	self->steps_locked = 0;
}

void home_saw_regime(bool lockless)
{
	myself()->lockless = lockless;
}

struct pool_block *home_block_alloc(bool uncached, unsigned int order, bool charged)
{
	long nr_pages = 1L << order;
	struct pool_block *block;

	if ((order && home.no_big_blocks) || home.budget_pages < nr_pages)
		return NULL;
	home.budget_pages -= nr_pages;
	/* What was freed last is used first, as the system does it too. */
	for (block = &blocks[last_block]; block->where != WITH_SYSTEM;)
		block = block == &blocks[BLOCKS - 1] ? blocks : block + 1;
	block->where = HELD;
	block->owner = fiber_current;
	block->order = order;
	block->uncached = uncached;
	block->charged = charged;
	return block;
}

void home_block_free(struct pool_block *block)
{
	if (block->where != HELD || block->owner != fiber_current)
		home_broken("a block was freed by somebody who does not own it");
	block->where = WITH_SYSTEM;
	last_block = (u32)(block - blocks);
	home.budget_pages += 1L << block->order;
	myself()->freed_pages += 1UL << block->order;
}

void home_resting(struct pool_block *block, unsigned int order, int sign)
{
	if (order != block->order || block->charged)
		home_broken("a block is in a pool that it does not belong into");
	if (sign > 0 && (block->where != HELD || block->owner != fiber_current))
		home_broken("a block came into a pool from somebody who does not own it");
	if (sign < 0 && block->where != RESTING)
		home_broken("a block was handed out twice");
	block->where = sign > 0 ? RESTING : HELD;
	block->owner = sign > 0 ? NULL : fiber_current;
	home.resting_pages += sign * (1L << order);
}

/* ---- one pool --------------------------------------------------------------------------- */

static long length(struct pool_block *block)
{
	long nr = 0;

	for (; block; block = block->next) {
		if (block->where != RESTING)
			home_broken("a block in the pool is not at rest");
		if (++nr > BLOCKS)
			home_broken("a list bites its tail");
	}
	return nr;
}

/* Looks at everything at once, between two steps of the others. */
static void audit(void)
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
	there = length(pool.fresh.first) + length(pool.stock);
	if (counted < there || counted > there + adding + removing * POOL_BATCH)
		home_broken("the counts do not agree");
	if (home.resting_pages < there ||
	    home.resting_pages > there + adding + removing * POOL_BATCH)
		home_broken("blocks at rest are lost");
}

static void add(struct actor *self, struct pool_block *block)
{
	self->adding = true;
	pool_add(&pool, block);
	self->adding = false;
}

/* The chain, checked. */
static struct pool_block *remove_some(struct actor *self, unsigned long max, unsigned long *nr)
{
	u64 before = empties;
	struct pool_block *first, *block;
	unsigned long seen = 0;

	self->removing = true;
	home_note_empty();
	first = pool_remove(&pool, max, nr);
	home_note_empty();
	self->removing = false;
	for (block = first; block; block = pool_host_next(block))
		seen++;
	if (seen != *nr || seen > max || seen > POOL_BATCH)
		home_broken("a removal is not what it says");
	if (max && !first && empties == before)
		home_broken("nothing was found, and there always was something");
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

static void act_bring(struct actor *self)
{
	struct pool_block *block;

	block = self->nr_held ? self->held[--self->nr_held] :
				pool_host_block_alloc(false, 0, true, false);
	add(self, block);
}

static void act_take(struct actor *self)
{
	unsigned long nr;

	keep_or_free(self, remove_some(self, 1 + fiber_dice(&home.dice, 3), &nr), true);
}

static void act_shrink(struct actor *self)
{
	unsigned long nr;

	keep_or_free(self, remove_some(self, fiber_dice(&home.dice, 2 * POOL_BATCH), &nr), false);
}

static void act_drain(struct actor *self)
{
	unsigned long nr;

	do
		keep_or_free(self, remove_some(self, EVERYTHING, &nr), false);
	while (nr);
}

static void act_switch(struct actor *self)
{
	u32 i;

	home.lockless = !home.lockless;
	for (i = 0; i < nr_actors; i++)
		home.happened[REGIME_CHANGE] += actors[i].adding || actors[i].removing;
}

static void (*const pool_acts[])(struct actor *self) = {
	act_bring, act_take, act_shrink, act_drain, act_switch,
};

static void settle_pool(struct actor *self)
{
	long there;

	audit();
	there = length(pool.fresh.first) + length(pool.stock);
	if ((long)pool_blocks(&pool) != there || home.resting_pages != there)
		home_broken("the counts do not agree at the end");
	act_drain(self);
	if (pool_blocks(&pool))
		home_broken("a drained pool has blocks");
}

/* ---- a store ---------------------------------------------------------------------------- */

static void act_buffer(struct actor *self)
{
	enum store_kind kind = fiber_dice(&home.dice, STORE_KINDS);
	unsigned long nr_pages = 1 + fiber_dice(&home.dice, home.no_big_blocks ? 40 : 700);
	bool charged = !fiber_dice(&home.dice, 5);
	unsigned long pages = 0;
	struct store_chain chain;
	struct pool_block *block;

	if (store_take(&store, kind, nr_pages, charged, &chain))
		return;
	for (block = chain.first; block; block = pool_host_next(block)) {
		if (block->where != HELD || block->owner != fiber_current)
			home_broken("a buffer has a block that is not its own");
		pages += 1UL << block->order;
	}
	if (pages != nr_pages)
		home_broken("a buffer has not the size that was asked for");
	if (charged || !fiber_dice(&home.dice, 4))
		store_chain_free(kind, &chain);
	else
		store_give(&store, kind, &chain);
}

static void act_shrink_store(struct actor *self)
{
	unsigned long nr_pages = 1 + fiber_dice(&home.dice, 600);
	unsigned long before = self->freed_pages;
	unsigned long freed = store_shrink(&store, nr_pages);

	if (freed != self->freed_pages - before || freed >= nr_pages + (1UL << store_orders[0]))
		home_broken("shrinking is not what it says");
}

static void (*const store_acts[])(struct actor *self) = {
	act_buffer, act_buffer, act_buffer, act_shrink_store, act_switch,
};

static void settle_store(void)
{
	long there = home.resting_pages;

	if ((long)store_pages(&store) != there)
		home_broken("the counts do not agree at the end");
	if ((long)store_shrink(&store, EVERYTHING) != there || store_pages(&store))
		home_broken("a drained store has pages");
}

/* ---- a seed ----------------------------------------------------------------------------- */

static u32 choose(struct actor *self)
{
	u32 i, sum = 0;

	for (i = 0; i < 5; i++)
		sum += self->weights[i];
	sum = fiber_dice(&home.dice, sum);
	for (i = 0; sum >= self->weights[i]; i++)
		sum -= self->weights[i];
	return i;
}

/* Whoever is last counts. */
static void settle(struct actor *self, bool one_pool)
{
	u32 i;

	if (one_pool)
		settle_pool(self);
	else
		settle_store();
	if (home.budget_pages != BUDGET_PAGES || home.resting_pages)
		home_broken("pages are lost");
	for (i = 0; i < BLOCKS; i++) {
		if (blocks[i].where != WITH_SYSTEM)
			home_broken("a block is lost");
	}
}

static void run(void *one_pool)
{
	struct actor *self = myself();

	while (self->steps--) {
		if (one_pool) {
			pool_acts[choose(self)](self);
			audit();
		} else {
			store_acts[choose(self)](self);
		}
	}
	while (self->nr_held)
		add(self, self->held[--self->nr_held]);
	if (--nr_left == 0)
		settle(self, one_pool);
}

static bool nobody_knows(void *arg)
{
	return false;
}

u64 play(u64 seed)
{
	struct fiber_plan plan = { .seed = seed, .max_points = 4000000 };
	bool one_pool;
	u32 i, j;

	memset(&home, 0, sizeof(home));
	memset(actors, 0, sizeof(actors));
	home.dice = ~seed;
	home.budget_pages = BUDGET_PAGES;
	home.lockless = fiber_dice(&home.dice, 2);
	home.no_big_blocks = fiber_dice(&home.dice, 2);
	home.killed_one_in = fiber_dice(&home.dice, 2) * 64;
	one_pool = fiber_dice(&home.dice, 4);
	plan.policy = fiber_dice(&home.dice, FIBER_POLICIES);
	plan.switch_one_in = 1 + fiber_dice(&home.dice, 20);
	empties = last_block = 0;
	pool_init(&pool, false, 0);
	store_init(&store);

	fiber_begin(&plan);
	nr_actors = nr_left = 2 + fiber_dice(&home.dice, ACTORS_MAX - 1);
	for (i = 0; i < nr_actors; i++) {
		for (j = 0; j < 5; j++)
			actors[i].weights[j] = 1 + fiber_dice(&home.dice, j ? 8 : 20);
		actors[i].steps = (one_pool ? 10 : 2) + fiber_dice(&home.dice, one_pool ? 40 : 6);
		actors[i].fiber = fiber_new("actor %d", (int)i, run, one_pool ? &pool : NULL);
	}
	fiber_run(nobody_knows, NULL);
	return fiber_trace() ^ fiber_points();
}
