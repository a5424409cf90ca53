// SPDX-License-Identifier: GPL-2.0
/*
 * A buffer is assembled from blocks of a few sizes, the largest that fits first. For each size the
 * pool of the CPU is tried, then those of other CPUs that have many blocks, then the system, and at
 * last every pool. A size that none has is not tried again in this call, and only allocations of
 * the smallest size wait for memory.
 *
 * A buffer returns to the pools of the CPU that allocated it. If each freed block went to whoever
 * needs one first, CPUs would meet at its lock whenever the pools are nearly empty.
 *
 * A page charged to a control group stays charged until it is freed to the system. If it were
 * pooled, its old group would pay for a page that another group uses; so charged pages are not
 * pooled.
 */
#include "store.h"

const unsigned int store_orders[STORE_ORDERS] = { 8, 4, 0 };

void store_init(struct store *store)
{
	unsigned int kind, i, nr;

	for (kind = 0; kind < STORE_KINDS; kind++) {
		for (i = 0; i < STORE_ORDERS; i++) {
			for (nr = 0; nr < STORE_POOLS; nr++)
				pool_init(&store->pools[kind][i][nr], kind == STORE_UNCACHED,
					  store_orders[i]);
		}
	}
}

void store_chain_add(struct store_chain *chain, struct pool_block *block)
{
	pool_host_set_next(block, NULL);
	if (chain->last)
		pool_host_set_next(chain->last, block);
	else
		chain->first = block;
	chain->last = block;
	chain->nr_blocks++;
}

/*
 * Removes up to @max blocks from the pool with number @home, or else from one that has more than
 * @reserve pages.
 */
static struct pool_block *remove_some(struct pool pools[STORE_POOLS], unsigned int home,
				      unsigned long reserve, unsigned long max, unsigned long *nr)
{
	struct pool_block *block = pool_remove(&pools[home], max, nr);
	struct pool *pool;
	unsigned int i;

	for (i = 1; !block && i < STORE_POOLS; i++) {
		pool = &pools[(home + i) % STORE_POOLS];
		if (pool_blocks(pool) << pool->order > reserve)
			block = pool_remove(pool, max, nr);
	}
	return block;
}

/* Appends up to @max blocks of one size to the chain; returns their number. */
static unsigned long take_some(struct store *store, enum store_kind kind, unsigned int i,
			       unsigned long max, bool charged, struct store_chain *chain)
{
	struct pool *pools = store->pools[kind][i];
	struct pool_block *block = NULL, *next;
	unsigned long nr = 0;

	if (!charged)
		block = remove_some(pools, chain->home, STORE_RESERVE, max, &nr);
	if (!block) {
		block = pool_host_block_alloc(kind == STORE_UNCACHED, store_orders[i],
					      i == STORE_ORDERS - 1, charged);
		if (block) {
			pool_host_set_next(block, NULL);
			nr = 1;
		} else if (!charged) {
			block = remove_some(pools, chain->home, 0, max, &nr);
		}
	}
	for (; block; block = next) {
		next = pool_host_next(block);
		store_chain_add(chain, block);
	}
	return nr;
}

int store_take(struct store *store, enum store_kind kind, unsigned long nr_pages, bool charged,
	       struct store_chain *chain)
{
	unsigned int i = 0;
	unsigned long nr;
	int err;

	*chain = (struct store_chain){
		.home = pool_host_lockless() ? pool_host_cpu() % STORE_POOLS : 0,
	};
	while (nr_pages) {
		err = -EINTR;
		if (pool_host_killed())
			goto undo;
		while (nr_pages >> store_orders[i] == 0)
			i++;
		nr = take_some(store, kind, i, nr_pages >> store_orders[i], charged, chain);
		nr_pages -= nr << store_orders[i];
		err = -ENOMEM;
		if (!nr && ++i == STORE_ORDERS)
			goto undo;
	}
	return 0;

undo:
	if (charged)
		store_chain_free(kind, chain);
	else
		store_give(store, kind, chain);
	return err;
}

static struct pool *pool_for(struct store *store, enum store_kind kind, unsigned int home,
			     struct pool_block *block)
{
	unsigned int order = pool_host_block_order(block);
	unsigned int i = 0;

	while (store_orders[i] != order)
		i++;
	return &store->pools[kind][i][home];
}

void store_give(struct store *store, enum store_kind kind, struct store_chain *chain)
{
	unsigned int home = pool_host_lockless() ? chain->home : 0;
	struct pool_block *block, *next;

	for (block = chain->first; block; block = next) {
		next = pool_host_next(block);
		pool_add(pool_for(store, kind, home, block), block);
	}
	*chain = (struct store_chain){ 0 };
}

unsigned long store_chain_free(enum store_kind kind, struct store_chain *chain)
{
	struct pool_block *block, *next;
	unsigned long nr_pages = 0;
	unsigned int order;

	for (block = chain->first; block; block = next) {
		next = pool_host_next(block);
		order = pool_host_block_order(block);
		pool_host_block_free(block, kind == STORE_UNCACHED, order);
		nr_pages += 1UL << order;
	}
	*chain = (struct store_chain){ 0 };
	return nr_pages;
}

unsigned long store_blocks(const struct store *store, enum store_kind kind, unsigned int i)
{
	unsigned long nr_blocks = 0;
	unsigned int nr;

	for (nr = 0; nr < STORE_POOLS; nr++)
		nr_blocks += pool_blocks(&store->pools[kind][i][nr]);
	return nr_blocks;
}

unsigned long store_pages(const struct store *store)
{
	unsigned long nr_pages = 0;
	unsigned int kind, i;

	for (kind = 0; kind < STORE_KINDS; kind++) {
		for (i = 0; i < STORE_ORDERS; i++)
			nr_pages += store_blocks(store, kind, i) << store_orders[i];
	}
	return nr_pages;
}

/* Frees blocks of one pool; returns the pages freed. */
static unsigned long drain_pool(struct pool *pool, enum store_kind kind, unsigned long nr_pages)
{
	struct store_chain chain = { 0 };
	unsigned long nr, freed = 0;

	while (freed < nr_pages) {
		nr = ((nr_pages - freed - 1) >> pool->order) + 1;
		chain.first = pool_remove(pool, nr, &nr);
		if (!chain.first)
			break;
		freed += store_chain_free(kind, &chain);
	}
	return freed;
}

/* Frees up to @nr_pages pages of all pools of one size, as drain_pool() does of one. */
static unsigned long store_drain(struct pool pools[STORE_POOLS], enum store_kind kind,
				 unsigned long nr_pages)
{
	unsigned long freed = 0;
	unsigned int nr;

	for (nr = 0; nr < STORE_POOLS && freed < nr_pages; nr++)
		freed += drain_pool(&pools[nr], kind, nr_pages - freed);
	return freed;
}

/* Small blocks first: they are the cheapest to reallocate and the least useful to devices. */
unsigned long store_shrink(struct store *store, unsigned long nr_pages)
{
	unsigned long freed = 0;
	unsigned int kind, i;

	for (i = STORE_ORDERS; i-- > 0;) {
		for (kind = 0; kind < STORE_KINDS && freed < nr_pages; kind++)
			freed += store_drain(store->pools[kind][i], kind, nr_pages - freed);
	}
	return freed;
}
