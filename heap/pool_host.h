/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pools need from the system they run on: the kernel (linux/pool_host_impl.h), the unit
 * tests (test/pool_host_impl.h) or the simulator (sim/pool_host_impl.h). The include path selects
 * the implementation, which defines
 *
 *   struct pool_block    a block of 2^order pages; the pools only handle pointers to it
 *   struct pool_stack    a stack that supports concurrent pushes
 *   struct pool_mutex    a lock whose holder may be preempted
 *   struct pool_counter  a number that supports concurrent additions
 *
 * and the functions below. Only pool_host_lock(), pool_host_block_alloc() and
 * pool_host_block_free() may sleep.
 */
#ifndef HEAP_POOL_HOST_H
#define HEAP_POOL_HOST_H

struct pool;
enum pool_op { POOL_ADD, POOL_REMOVE, POOL_OPS };

#include <pool_host_impl.h>

/* The link embedded in every block; only the owner of the block may use it. */
static inline struct pool_block *pool_host_next(struct pool_block *block);
static inline void pool_host_set_next(struct pool_block *block, struct pool_block *next);

/* Push one block; take all blocks at once, last in first out. Both are lock-free. */
static inline void pool_host_push(struct pool_stack *stack, struct pool_block *block);
static inline struct pool_block *pool_host_take_all(struct pool_stack *stack);

static inline void pool_host_mutex_init(struct pool_mutex *mutex);
static inline bool pool_host_trylock(struct pool_mutex *mutex);
static inline void pool_host_lock(struct pool_mutex *mutex);
static inline void pool_host_unlock(struct pool_mutex *mutex);

static inline void pool_host_count(struct pool_counter *counter, long more);
static inline long pool_host_read(const struct pool_counter *counter);

/* The number of the CPU that runs the caller; it may be another one in the next moment. */
static inline unsigned int pool_host_cpu(void);

/* The current locking mode; it may change between two calls. */
static inline bool pool_host_lockless(void);

/* Tracepoints: about to take the lock; the lock was found taken. */
static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op);
static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op);

/* A block enters (@sign +1) or leaves (-1) a pool: for the system's memory statistics. */
static inline void pool_host_account_pooled(struct pool_block *block, unsigned int order, int sign);

/*
 * A block of 2^@order zeroed pages, NULL if there is none. @patient: may wait for memory and
 * reclaim it, because there is no smaller order to fall back to. @charged: charged to the caller's
 * control group.
 */
static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged);
/* Returns a block to the system. It need not be zeroed. */
static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order);
static inline unsigned int pool_host_block_order(struct pool_block *block);

/* True if the caller is being killed and should give up. */
static inline bool pool_host_killed(void);

#endif
