/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract of pool_host.h for the seeded scheduler: fibers (host/test/fiber.h), each operation
 * a scheduling point, and blocks that know whose they are. An operation on the stack is in as many
 * steps here as on a real machine.
 */
#ifndef HEAP_SIM_POOL_HOME_H
#define HEAP_SIM_POOL_HOME_H

#include "fiber.h"

enum home_where { WITH_SYSTEM, HELD, RESTING };

struct pool_block {
	struct pool_block *next;
	enum home_where where;
	struct fiber *owner;	/* while HELD */
	unsigned int order;
	bool uncached;
	bool charged;
};

struct pool_stack {
	struct pool_block *first;
};

struct pool_mutex {
	struct sim_lock lock;
};

struct pool_counter {
	long value;
};

/* What must happen in some seed: a simulation in which it does not shows nothing. */
enum home_event {
	PUSH_AGAIN,	/* somebody else came between the two steps of a push */
	TAKEN_ADD,	/* an adder, a remover found the lock taken */
	TAKEN_REMOVE,
	TAKE_NOTHING,	/* the stack was empty after all */
	REGIME_CHANGE,	/* while somebody was in a call */
	HOME_EVENTS,
};

/* One seed's world (play.c). */
struct home {
	bool lockless;
	bool no_big_blocks;
	u32 killed_one_in;	/* 0: never */
	long budget_pages;	/* that the system still has */
	long resting_pages;
	u64 dice;
	unsigned long happened[HOME_EVENTS];
};
extern struct home home;

/* Before each operation: others may run. */
void home_step(void);
/* The caller has seen a pool without anything in it; is it? */
void home_note_empty(void);
void home_locked(bool locked);
void home_saw_regime(bool lockless);
struct pool_block *home_block_alloc(bool uncached, unsigned int order, bool charged);
void home_block_free(struct pool_block *block);
void home_resting(struct pool_block *block, unsigned int order, int sign);
/* Ends the process: a rule is broken. */
void home_broken(const char *what) __attribute__((noreturn));

static inline void home_link_used(const struct pool_block *block)
{
	home_step();
	if (block->where == WITH_SYSTEM)
		home_broken("the link of a block is used that the system has got back");
	if (block->where == HELD && block->owner != fiber_current)
		home_broken("the link of a block is used that somebody else owns");
}

static inline struct pool_block *pool_host_next(struct pool_block *block)
{
	home_link_used(block);
	return block->next;
}

static inline void pool_host_set_next(struct pool_block *block, struct pool_block *next)
{
	home_link_used(block);
	block->next = next;
}

static inline void pool_host_push(struct pool_stack *stack, struct pool_block *block)
{
	struct pool_block *first;

	home_step();
	for (;;) {
		first = stack->first;
		block->next = first;
		home_step();
		if (stack->first == first)
			break;
		home.happened[PUSH_AGAIN]++;
	}
	stack->first = block;
}

static inline struct pool_block *pool_host_take_all(struct pool_stack *stack)
{
	struct pool_block *first;

	home_step();
	first = stack->first;
	stack->first = NULL;
	if (!first) {
		home_note_empty();
		home.happened[TAKE_NOTHING]++;
	}
	return first;
}

static inline void pool_host_mutex_init(struct pool_mutex *mutex)
{
	mutex->lock = (struct sim_lock){ 0 };
}

static inline bool pool_host_trylock(struct pool_mutex *mutex)
{
	home_note_empty();
	if (!fiber_trylock(&mutex->lock, false))
		return false;
	home_locked(true);
	return true;
}

static inline void pool_host_lock(struct pool_mutex *mutex)
{
	home_note_empty();
	fiber_lock(&mutex->lock, false);
	home_locked(true);
}

static inline void pool_host_unlock(struct pool_mutex *mutex)
{
	home_step();
	home_locked(false);
	fiber_unlock(&mutex->lock, false);
}

static inline void pool_host_count(struct pool_counter *counter, long more)
{
	home_step();
	counter->value += more;
}

static inline long pool_host_read(const struct pool_counter *counter)
{
	home_step();
	home_note_empty();
	return counter->value;
}

static inline bool pool_host_lockless(void)
{
	home_step();
	home_saw_regime(home.lockless);
	return home.lockless;
}

static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op)
{
}

static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op)
{
	home.happened[op == POOL_ADD ? TAKEN_ADD : TAKEN_REMOVE]++;
}

static inline void pool_host_resting(struct pool_block *block, unsigned int order, int sign)
{
	home_step();
	home_resting(block, order, sign);
}

static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged)
{
	home_step();
	if (patient != (order == 0))
		home_broken("memory is waited for where there is a smaller order");
	return home_block_alloc(uncached, order, charged);
}

static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order)
{
	home_step();
	if (block->order != order || block->uncached != uncached)
		home_broken("a block was freed as something else");
	home_block_free(block);
}

static inline unsigned int pool_host_block_order(struct pool_block *block)
{
	return block->order;
}

static inline bool pool_host_killed(void)
{
	home_step();
	return home.killed_one_in && !fiber_dice(&home.dice, home.killed_one_in);
}

#endif
