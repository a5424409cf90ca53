// SPDX-License-Identifier: GPL-2.0
/*
 * A conventional pool of an allocator of shared buffers is a list under a mutex. When memory is
 * short the mutex is contended: starting applications allocate, killed applications free, the
 * shrinker runs, and all of them wait if the lock holder is preempted.
 *
 * Here adding a block takes no lock: the block is pushed on a stack with one compare and exchange.
 * Popping a single element off such a stack would suffer from the ABA problem, so it is never done.
 * Removers are serialised by the mutex and take blocks from a private stock; when the stock is
 * empty they refill it by taking the whole stack with one exchange. The lock is held for a few
 * pointer operations only, and adders never wait.
 *
 * In locking mode `mutex` adders also take the lock and add the block to the stock. The data
 * structure is the same in both modes, so the mode may change at any time.
 */
#include "pool.h"

void pool_init(struct pool *pool, bool uncached, unsigned int order)
{
	*pool = (struct pool){ .order = order, .uncached = uncached };
	pool_host_mutex_init(&pool->mutex);
}

static void pool_lock(struct pool *pool, enum pool_op op)
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
	pool_host_account_pooled(block, pool->order, 1);
	/* Counted before the block is visible, so that its removal is never counted first. */
	pool_host_count(&pool->adds, 1);
	if (pool_host_lockless()) {
		pool_host_push(&pool->fresh, block);
		return;
	}
	pool_lock(pool, POOL_ADD);
	pool_host_set_next(block, pool->stock);
	pool->stock = block;
	pool_host_unlock(&pool->mutex);
}

/* Detaches the first @max blocks of the stock. Called with the lock held. */
static struct pool_block *detach_stock(struct pool *pool, unsigned long max, unsigned long *nr)
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
	/* An empty pool is detected without the lock. */
	if (!max || !pool_blocks(pool))
		return NULL;
	if (max > POOL_BATCH)
		max = POOL_BATCH;
	pool_lock(pool, POOL_REMOVE);
	if (!pool->stock)
		pool->stock = pool_host_take_all(&pool->fresh);
	first = detach_stock(pool, max, nr);
	pool_host_unlock(&pool->mutex);

	pool_host_count(&pool->removes, (long)*nr);
	for (block = first; block; block = pool_host_next(block))
		pool_host_account_pooled(block, pool->order, -1);
	return first;
}

unsigned long pool_blocks(const struct pool *pool)
{
	/* Read removes first: every removed block was added before. */
	long removes = pool_host_read(&pool->removes);
	long adds = pool_host_read(&pool->adds);

	return adds > removes ? (unsigned long)(adds - removes) : 0;
}
