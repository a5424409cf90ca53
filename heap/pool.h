/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool: idle blocks of one size and kind, ready for the next buffer. Anybody may call anything at
 * any time; the content of a block is none of the pool's business.
 */
#ifndef HEAP_POOL_H
#define HEAP_POOL_H

#include "pool_host.h"

/* As many blocks are taken under one lock at most, so that nobody holds it for long. */
#define POOL_BATCH 16

/* Adders and removers shall not fight for a cache line. */
#define POOL_APART __attribute__((aligned(64)))

struct pool {
	/* what adders write */
	struct pool_stack fresh;	/* blocks that came without the lock */
	struct pool_counter adds;
	/* what removers write */
	struct pool_mutex mutex POOL_APART;
	struct pool_block *stock;	/* under mutex: blocks for removers */
	struct pool_counter removes;
	struct pool_counter taken[POOL_OPS];	/* how often the lock was found taken */
	unsigned int order;
	bool uncached;
};

void pool_init(struct pool *pool, bool uncached, unsigned int order);

/* Puts @block to rest. Takes no lock in the lock-less regime; sleeps in the other. */
void pool_add(struct pool *pool, struct pool_block *block);

/*
 * Takes up to @max blocks (POOL_BATCH at most) out: a chain by pool_host_next() whose last block
 * has none, NULL if the pool is empty. @nr: how many. May sleep for the lock, which is held for a
 * bounded number of steps.
 */
struct pool_block *pool_remove(struct pool *pool, unsigned long max, unsigned long *nr);

/* Blocks at rest; may be one off for each call under way, never below 0. */
unsigned long pool_blocks(const struct pool *pool);

#endif
