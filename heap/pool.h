/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool: idle blocks of one size and kind, ready for the next buffer. All functions may be called
 * concurrently. A pool never looks at the content of a block.
 */
#ifndef HEAP_POOL_H
#define HEAP_POOL_H

#include "pool_host.h"

/* Upper bound of blocks removed under one lock, so that it is never held for long. */
#define POOL_BATCH 16

/* Keeps the fields of adders and removers in different cache lines. */
#define POOL_CACHE_ALIGNED __attribute__((aligned(64)))

struct pool {
	/* written by adders */
	struct pool_stack fresh;	/* blocks added without the lock */
	struct pool_counter adds;
	/* written by removers */
	struct pool_mutex mutex POOL_CACHE_ALIGNED;
	struct pool_block *stock;	/* under mutex: blocks for removers */
	struct pool_counter removes;
	struct pool_counter taken[POOL_OPS];	/* how often the lock was found taken */
	unsigned int order;
	bool uncached;
};

void pool_init(struct pool *pool, bool uncached, unsigned int order);

/* Adds @block. Takes no lock in locking mode `lockless`; may sleep in mode `mutex`. */
void pool_add(struct pool *pool, struct pool_block *block);

/*
 * Removes up to @max blocks, POOL_BATCH at most. Returns them as a NULL-terminated chain (see
 * pool_host_next()), or NULL if the pool is empty, and their number in @nr. May sleep for the lock,
 * which is held for a bounded number of steps.
 */
struct pool_block *pool_remove(struct pool *pool, unsigned long max, unsigned long *nr);

/* Number of pooled blocks; may be off by one for each concurrent call, never negative. */
unsigned long pool_blocks(const struct pool *pool);

#endif
