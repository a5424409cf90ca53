// SPDX-License-Identifier: GPL-2.0
/*
 * The classic pool of an allocator of shared buffers is a list under a mutex. When memory is short
 * everybody meets there: applications that start, those that are killed and hand back what they
 * had, the shrinker; and a holder of the lock that is preempted keeps them all waiting.
 *
 * Here whoever brings a block takes no lock: it is pushed on a stack, which is one compare and
 * exchange. Taking a single element off such a stack is where the trouble lies (the element may
 * have left and come back in between), so nobody does that: removers, one at a time by the mutex,
 * have a stock of their own, and when it runs out they take the whole stack for it in one exchange.
 * Each holds the lock for a few pointer moves whatever adders do, and adders wait for nobody.
 *
 * In the regime `mutex` adders take the lock as well and put their block straight into the stock.
 * Both ways keep the pool in the same shape, so the regime may change at any time.
 */
#include "pool.h"

void pool_init(struct pool *pool, bool uncached, unsigned int order)
{
	*pool = (struct pool){ .order = order, .uncached = uncached };
	pool_host_mutex_init(&pool->mutex);
}

static void lock(struct pool *pool, enum pool_op op)
{
	pool_host_lock_try(pool, op);
	if (pool_host_trylock(&pool->mutex))
		return;
	pool_host_count(&pool->taken[op], 1);
	pool_host_lock_taken(pool, op);
	pool_host_lock(&pool->mutex);
}

void pool_add(struct pool *pool, struct pool_block *block)
{
	pool_host_resting(block, pool->order, 1);
	/* Counted before it can be seen, so that it cannot be counted as gone before. */
	pool_host_count(&pool->adds, 1);
	if (pool_host_lockless()) {
		pool_host_push(&pool->fresh, block);
		return;
	}
	lock(pool, POOL_ADD);
	pool_host_set_next(block, pool->stock);
	pool->stock = block;
	pool_host_unlock(&pool->mutex);
}

/* The first @max blocks of the stock as a chain of their own. Called with the lock. */
static struct pool_block *cut(struct pool *pool, unsigned long max, unsigned long *nr)
{
	struct pool_block *first = pool->stock;
	struct pool_block *last = first;

	if (!first)
		return NULL;
	for (*nr = 1; *nr < max && pool_host_next(last); (*nr)++)
		last = pool_host_next(last);
	pool->stock = pool_host_next(last);
	pool_host_set_next(last, NULL);
	return first;
}

struct pool_block *pool_remove(struct pool *pool, unsigned long max, unsigned long *nr)
{
	struct pool_block *first, *block;

	*nr = 0;
	/* That there is nothing can be seen without the lock. */
	if (!max || !pool_blocks(pool))
		return NULL;
	if (max > POOL_BATCH)
		max = POOL_BATCH;
	lock(pool, POOL_REMOVE);
	if (!pool->stock)
		pool->stock = pool_host_take_all(&pool->fresh);
	first = cut(pool, max, nr);
	pool_host_unlock(&pool->mutex);

	pool_host_count(&pool->removes, (long)*nr);
	for (block = first; block; block = pool_host_next(block))
		pool_host_resting(block, pool->order, -1);
	return first;
}

unsigned long pool_blocks(const struct pool *pool)
{
	/* Removes are read first: what was removed had been added before. */
	long removes = pool_host_read(&pool->removes);
	long adds = pool_host_read(&pool->adds);

	return adds > removes ? (unsigned long)(adds - removes) : 0;
}
