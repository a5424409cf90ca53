/* SPDX-License-Identifier: GPL-2.0 */
/* The contract of pool_host.h for the unit tests: threads of a process, and blocks that remember
 * where they are. */
#ifndef HEAP_TEST_POOL_HOME_H
#define HEAP_TEST_POOL_HOME_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct pool_block {
	struct pool_block *next;
	unsigned int order;
	bool uncached;
	bool charged;
	atomic_bool resting;	/* in a pool */
	bool dirty;		/* written to by a user; plain, so that a race on it is seen */
};

struct pool_stack {
	_Atomic(struct pool_block *) first;
};

struct pool_mutex {
	pthread_mutex_t lock;
};

struct pool_counter {
	atomic_long value;
};

/* What a test sets and looks at (main.c). */
struct home {
	atomic_bool lockless;
	atomic_long blocks_out;		/* blocks that the system has not got back */
	atomic_long pages_resting;
	atomic_long lock_tries;
	atomic_long lock_taken;
	atomic_long alloc_budget;	/* pages that the system still has */
	atomic_long killed_in;		/* calls until the caller is being killed; < 0: never */
	bool no_big_blocks;		/* the system is fragmented */
};
extern struct home home;
/* Ends the program: the pools have broken a rule that no CHECK() can see. */
void home_broken(const char *what) __attribute__((noreturn));

static inline struct pool_block *pool_host_next(struct pool_block *block)
{
	return block->next;
}

static inline void pool_host_set_next(struct pool_block *block, struct pool_block *next)
{
	block->next = next;
}

static inline void pool_host_push(struct pool_stack *stack, struct pool_block *block)
{
	struct pool_block *first = atomic_load_explicit(&stack->first, memory_order_relaxed);

	do {
		block->next = first;
	} while (!atomic_compare_exchange_weak_explicit(&stack->first, &first, block,
							memory_order_release,
							memory_order_relaxed));
}

static inline struct pool_block *pool_host_take_all(struct pool_stack *stack)
{
	return atomic_exchange_explicit(&stack->first, NULL, memory_order_acquire);
}

static inline void pool_host_mutex_init(struct pool_mutex *mutex)
{
	pthread_mutex_init(&mutex->lock, NULL);
}

static inline bool pool_host_trylock(struct pool_mutex *mutex)
{
	return !pthread_mutex_trylock(&mutex->lock);
}

static inline void pool_host_lock(struct pool_mutex *mutex)
{
	pthread_mutex_lock(&mutex->lock);
}

static inline void pool_host_unlock(struct pool_mutex *mutex)
{
	pthread_mutex_unlock(&mutex->lock);
}

static inline void pool_host_count(struct pool_counter *counter, long more)
{
	atomic_fetch_add(&counter->value, more);
}

static inline long pool_host_read(const struct pool_counter *counter)
{
	return atomic_load(&counter->value);
}

static inline bool pool_host_lockless(void)
{
	return atomic_load_explicit(&home.lockless, memory_order_relaxed);
}

static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op)
{
	atomic_fetch_add(&home.lock_tries, 1);
}

static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op)
{
	atomic_fetch_add(&home.lock_taken, 1);
}

static inline void pool_host_resting(struct pool_block *block, unsigned int order, int sign)
{
	if (atomic_exchange(&block->resting, sign > 0) == (sign > 0))
		home_broken(sign > 0 ? "a block came into a pool twice" : "a block left twice");
	if (sign > 0 && block->charged)
		home_broken("a charged block came into a pool");
	if (sign > 0 && block->dirty)
		home_broken("a dirty block came into a pool");
	if (order != block->order)
		home_broken("a block came into the wrong pool");
	atomic_fetch_add(&home.pages_resting, sign * (1L << order));
}

static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged)
{
	struct pool_block *block;

	if (patient != (order == 0))
		home_broken("memory is waited for where there is a smaller order");
	if (order && home.no_big_blocks)
		return NULL;
	if (atomic_fetch_sub(&home.alloc_budget, 1L << order) < 1L << order) {
		atomic_fetch_add(&home.alloc_budget, 1L << order);
		return NULL;
	}
	block = calloc(1, sizeof(*block));
	if (!block)
		abort();
	block->order = order;
	block->uncached = uncached;
	block->charged = charged;
	atomic_fetch_add(&home.blocks_out, 1);
	return block;
}

static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order)
{
	if (block->order != order || block->uncached != uncached)
		home_broken("a block was freed as something else");
	if (atomic_load(&block->resting))
		home_broken("a block was freed while it was in a pool");
	atomic_fetch_add(&home.alloc_budget, 1L << order);
	atomic_fetch_sub(&home.blocks_out, 1);
	free(block);
}

static inline unsigned int pool_host_block_order(struct pool_block *block)
{
	return block->order;
}

static inline bool pool_host_killed(void)
{
	return atomic_load(&home.killed_in) >= 0 && atomic_fetch_sub(&home.killed_in, 1) == 0;
}

#endif
