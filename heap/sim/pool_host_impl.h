/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool_host.h for the seeded scheduler (host/test/fiber.h): each operation is a scheduling point,
 * and blocks record their owner. An operation on the stack takes as many steps as on real hardware.
 */
#ifndef HEAP_SIM_POOL_HOST_IMPL_H
#define HEAP_SIM_POOL_HOST_IMPL_H

#include "fiber.h"

#define FAKE_CPUS 3

enum block_state { WITH_SYSTEM, HELD, POOLED };

struct pool_block {
	struct pool_block *next;
	enum block_state where;
	struct fiber *owner;	/* while HELD; while POOLED: who has added it */
	u64 pooled_at;		/* since when store_take() must find it; 0: not yet */
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

/* Events that must happen in some seed, or else the simulation does not test them. */
enum sim_event {
	PUSH_AGAIN,	/* the stack changed between the two steps of a push */
	TAKEN_ADD,	/* an adder found the lock taken */
	TAKEN_REMOVE,	/* a remover found the lock taken */
	TAKE_NOTHING,	/* the stack was empty under the lock */
	LOCKING_CHANGE,	/* the locking mode changed during a call */
	NO_MEMORY,	/* store_take() failed */
	LAST_RESORT,	/* a block was pooled when the system had none */
	SIM_EVENTS,
};

/* The system below the pools, for one seed (play.c). */
struct fake_system {
	bool lockless;
	bool no_big_blocks;
	u32 killed_one_in;	/* 0: never */
	long budget_pages;	/* free pages of the system */
	long pooled_pages;
	u64 dice;
	unsigned long happened[SIM_EVENTS];
};
extern struct fake_system fake;

/* Before each operation: other fibers may run. */
void fake_step(void);
/* Counts the pool as observed empty if it is. */
void fake_note_empty(void);
void fake_locked(bool locked);
void fake_saw_locking(bool lockless);
struct pool_block *fake_block_alloc(bool uncached, unsigned int order, bool charged);
void fake_block_free(struct pool_block *block);
void fake_account_pooled(struct pool_block *block, unsigned int order, int sign);
/* Ends the process with @what as the broken rule. */
void fake_fail(const char *what) __attribute__((noreturn));

static inline void fake_link_used(const struct pool_block *block)
{
	fake_step();
	if (block->where == WITH_SYSTEM)
		fake_fail("the link of a freed block is used");
	if (block->where == HELD && block->owner != fiber_current)
		fake_fail("the link of a block is used that another fiber owns");
}

static inline struct pool_block *pool_host_next(struct pool_block *block)
{
	fake_link_used(block);
	return block->next;
}

static inline void pool_host_set_next(struct pool_block *block, struct pool_block *next)
{
	fake_link_used(block);
	block->next = next;
}

static inline void pool_host_push(struct pool_stack *stack, struct pool_block *block)
{
	struct pool_block *first;

	fake_step();
	for (;;) {
		first = stack->first;
		block->next = first;
		fake_step();
		if (stack->first == first)
			break;
		fake.happened[PUSH_AGAIN]++;
	}
	stack->first = block;
}

static inline struct pool_block *pool_host_take_all(struct pool_stack *stack)
{
	struct pool_block *first;

	fake_step();
	first = stack->first;
	stack->first = NULL;
	if (!first) {
		fake_note_empty();
		fake.happened[TAKE_NOTHING]++;
	}
	return first;
}

static inline void pool_host_mutex_init(struct pool_mutex *mutex)
{
	mutex->lock = (struct sim_lock){ 0 };
}

static inline bool pool_host_trylock(struct pool_mutex *mutex)
{
	fake_note_empty();
	if (!fiber_trylock(&mutex->lock, false))
		return false;
	fake_locked(true);
	return true;
}

static inline void pool_host_lock(struct pool_mutex *mutex)
{
	fake_note_empty();
	fiber_lock(&mutex->lock, false);
	fake_locked(true);
}

static inline void pool_host_unlock(struct pool_mutex *mutex)
{
	fake_step();
	fake_locked(false);
	fiber_unlock(&mutex->lock, false);
}

static inline void pool_host_count(struct pool_counter *counter, long more)
{
	fake_step();
	counter->value += more;
}

static inline long pool_host_read(const struct pool_counter *counter)
{
	fake_step();
	fake_note_empty();
	return counter->value;
}

static inline unsigned int pool_host_cpu(void)
{
	fake_step();
	return fiber_dice(&fake.dice, FAKE_CPUS);
}

static inline bool pool_host_lockless(void)
{
	fake_step();
	fake_saw_locking(fake.lockless);
	return fake.lockless;
}

static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op)
{
}

static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op)
{
	fake.happened[op == POOL_ADD ? TAKEN_ADD : TAKEN_REMOVE]++;
}

static inline void pool_host_account_pooled(struct pool_block *block, unsigned int order, int sign)
{
	fake_step();
	fake_account_pooled(block, order, sign);
}

static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged)
{
	fake_step();
	if (patient != (order == 0))
		fake_fail("an allocation waits for memory although there is a smaller order");
	return fake_block_alloc(uncached, order, charged);
}

static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order)
{
	fake_step();
	if (block->order != order || block->uncached != uncached)
		fake_fail("a block was freed with the wrong order or kind");
	fake_block_free(block);
}

static inline unsigned int pool_host_block_order(struct pool_block *block)
{
	return block->order;
}

static inline bool pool_host_killed(void)
{
	fake_step();
	return fake.killed_one_in && !fiber_dice(&fake.dice, fake.killed_one_in);
}

#endif
