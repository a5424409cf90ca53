/* SPDX-License-Identifier: GPL-2.0 */
/* pool_host.h for the unit tests: POSIX threads, and blocks that record their state. */
#ifndef HEAP_TEST_POOL_HOST_IMPL_H
#define HEAP_TEST_POOL_HOST_IMPL_H

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
	atomic_bool pooled;	/* in a pool */
	bool dirty;		/* written by its user; not atomic, so that TSan sees races */
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

/* The system below the pools, set up and checked by the tests (main.c). */
struct fake_system {
	atomic_bool lockless;
	atomic_uint cpu;		/* of all threads */
	atomic_long blocks_out;		/* allocated and not freed */
	atomic_long pages_pooled;
	atomic_long lock_tries;
	atomic_long lock_taken;
	atomic_long alloc_budget;	/* free pages of the system */
	atomic_long killed_in;		/* calls until the caller is killed; < 0: never */
	bool no_big_blocks;		/* only order 0 can be allocated */
};
extern struct fake_system fake;
/* Ends the program, for broken rules that no CHECK() can detect. */
void fake_fail(const char *what) __attribute__((noreturn));

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

static inline unsigned int pool_host_cpu(void)
{
	return atomic_load_explicit(&fake.cpu, memory_order_relaxed);
}

static inline bool pool_host_lockless(void)
{
	return atomic_load_explicit(&fake.lockless, memory_order_relaxed);
}

static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op)
{
	atomic_fetch_add(&fake.lock_tries, 1);
}

static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op)
{
	atomic_fetch_add(&fake.lock_taken, 1);
}

static inline void pool_host_account_pooled(struct pool_block *block, unsigned int order, int sign)
{
	if (atomic_exchange(&block->pooled, sign > 0) == (sign > 0))
		fake_fail(sign > 0 ? "a block was added twice" : "a block was removed twice");
	if (sign > 0 && block->charged)
		fake_fail("a charged block was pooled");
	if (sign > 0 && block->dirty)
		fake_fail("a dirty block was pooled");
	if (order != block->order)
		fake_fail("a block was added to the wrong pool");
	atomic_fetch_add(&fake.pages_pooled, sign * (1L << order));
}

static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged)
{
	struct pool_block *block;

	if (patient != (order == 0))
		fake_fail("an allocation waits for memory although there is a smaller order");
	if (order && fake.no_big_blocks)
		return NULL;
	if (atomic_fetch_sub(&fake.alloc_budget, 1L << order) < 1L << order) {
		atomic_fetch_add(&fake.alloc_budget, 1L << order);
		return NULL;
	}
	block = calloc(1, sizeof(*block));
	if (!block)
		abort();
	block->order = order;
	block->uncached = uncached;
	block->charged = charged;
	atomic_fetch_add(&fake.blocks_out, 1);
	return block;
}

static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order)
{
	if (block->order != order || block->uncached != uncached)
		fake_fail("a block was freed with the wrong order or kind");
	if (atomic_load(&block->pooled))
		fake_fail("a block was freed while it was in a pool");
	atomic_fetch_add(&fake.alloc_budget, 1L << order);
	atomic_fetch_sub(&fake.blocks_out, 1);
	free(block);
}

static inline unsigned int pool_host_block_order(struct pool_block *block)
{
	return block->order;
}

static inline bool pool_host_killed(void)
{
	return atomic_load(&fake.killed_in) >= 0 && atomic_fetch_sub(&fake.killed_in, 1) == 0;
}

#endif
