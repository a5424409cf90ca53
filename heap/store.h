/* SPDX-License-Identifier: GPL-2.0 */
/*
 * store: the pools of all orders and kinds, and the pages of a buffer as a chain of blocks. Blocks
 * in the pools are clean: every page holds zeroes. Anybody may call anything at any time.
 */
#ifndef HEAP_STORE_H
#define HEAP_STORE_H

#include "pool.h"

enum store_kind { STORE_CACHED, STORE_UNCACHED, STORE_KINDS };

/* Largest first: 1 MiB, 64 KiB, 4 KiB where a page has 4 KiB. Big blocks make short tables for
 * devices and few steps for the pools; the last must be 0. */
#define STORE_ORDERS 3
extern const unsigned int store_orders[STORE_ORDERS];

struct store {
	struct pool pools[STORE_KINDS][STORE_ORDERS];
};

/* Blocks linked by pool_host_next(). */
struct store_chain {
	struct pool_block *first;
	struct pool_block *last;
	unsigned long nr_blocks;
};

void store_chain_add(struct store_chain *chain, struct pool_block *block);

void store_init(struct store *store);

/*
 * @nr_pages (not 0) clean pages. @charged: new from the system and charged to the caller's control
 * group; they must never come into a pool. Sleeps. -ENOMEM; -EINTR: the caller is being killed. On
 * failure nothing is kept.
 */
int store_take(struct store *store, enum store_kind kind, unsigned long nr_pages, bool charged,
	       struct store_chain *chain);

/* Clean blocks into the pools; @chain is empty afterwards. */
void store_give(struct store *store, enum store_kind kind, struct store_chain *chain);

/* Blocks back to the system, clean or not; @chain is empty afterwards. Returns how many pages. */
unsigned long store_chain_free(enum store_kind kind, struct store_chain *chain);

/* Pages at rest in the pools. */
unsigned long store_pages(const struct store *store);

/* Gives pages at rest back to the system: @nr_pages, or a little more as blocks are whole, or all
 * there are. Returns how many. */
unsigned long store_shrink(struct store *store, unsigned long nr_pages);

#endif
