/* SPDX-License-Identifier: GPL-2.0 */
/*
 * store: the pools of all orders and kinds, and the pages of a buffer as a chain of blocks. Blocks
 * in the pools are clean: every page is zeroed. All functions may be called concurrently.
 */
#ifndef HEAP_STORE_H
#define HEAP_STORE_H

#include "pool.h"

enum store_kind { STORE_CACHED, STORE_UNCACHED, STORE_KINDS };

/*
 * Largest first: 1 MiB, 64 KiB and 4 KiB with pages of 4 KiB. Large blocks make scatter-gather
 * tables short and pool operations few. The last order must be 0.
 */
#define STORE_ORDERS 3
extern const unsigned int store_orders[STORE_ORDERS];

/*
 * Pools of each size and kind: a CPU uses that with its number, modulo this, so that CPUs rarely
 * meet at a lock. In locking mode `mutex` all use the first.
 */
#define STORE_POOLS 8

/*
 * Up to so many pages of a pool are left to its own CPUs while the system has memory: 2 MiB with
 * pages of 4 KiB. They can be reclaimed as all others.
 */
#define STORE_RESERVE 512

struct store {
	struct pool pools[STORE_KINDS][STORE_ORDERS][STORE_POOLS];
};

/* Blocks linked by pool_host_next(). */
struct store_chain {
	struct pool_block *first;
	struct pool_block *last;
	unsigned long nr_blocks;
	unsigned int home;	/* number of the pools that the blocks return to */
};

void store_chain_add(struct store_chain *chain, struct pool_block *block);

void store_init(struct store *store);

/*
 * Allocates @nr_pages (not 0) clean pages. @charged: newly allocated and charged to the caller's
 * control group; such pages must never be pooled. Sleeps. Returns 0, -ENOMEM, or -EINTR if the
 * caller is being killed. On failure nothing stays allocated.
 */
int store_take(struct store *store, enum store_kind kind, unsigned long nr_pages, bool charged,
	       struct store_chain *chain);

/* Adds clean blocks to the pools; @chain is empty afterwards. */
void store_give(struct store *store, enum store_kind kind, struct store_chain *chain);

/* Frees blocks, clean or not, to the system; @chain is empty afterwards. Returns pages freed. */
unsigned long store_chain_free(enum store_kind kind, struct store_chain *chain);

/* Blocks of size number @i in the pools; pages in all of them. */
unsigned long store_blocks(const struct store *store, enum store_kind kind, unsigned int i);
unsigned long store_pages(const struct store *store);

/*
 * Frees @nr_pages of the pools, rounded up to whole blocks, or all if there are fewer. Returns the
 * pages freed.
 */
unsigned long store_shrink(struct store *store, unsigned long nr_pages);

#endif
