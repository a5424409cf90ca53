/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pools ask of the system that they run in: the kernel (linux/pool_home.h) or a unit test
 * (test/pool_home.h). The home's header is found by the include path and defines
 *
 *   struct pool_block    a block of 2^order pages; the pools see pointers to it alone
 *   struct pool_stack    a stack that anybody may push on at any time
 *   struct pool_mutex    a lock whose holder may be preempted
 *   struct pool_counter  a number that anybody may add to at any time
 *
 * and the functions below. None of them may sleep but pool_host_lock(), pool_host_block_alloc()
 * and pool_host_block_free().
 */
#ifndef HEAP_POOL_HOST_H
#define HEAP_POOL_HOST_H

struct pool;
enum pool_op { POOL_ADD, POOL_REMOVE, POOL_OPS };

#include <pool_home.h>

/* The link that every block brings; it belongs to whoever owns the block. */
static inline struct pool_block *pool_host_next(struct pool_block *block);
static inline void pool_host_set_next(struct pool_block *block, struct pool_block *next);

/* Push, and take everything at once: each one step that never waits for another CPU's. What was
 * pushed last comes first. */
static inline void pool_host_push(struct pool_stack *stack, struct pool_block *block);
static inline struct pool_block *pool_host_take_all(struct pool_stack *stack);

static inline void pool_host_mutex_init(struct pool_mutex *mutex);
static inline bool pool_host_trylock(struct pool_mutex *mutex);
static inline void pool_host_lock(struct pool_mutex *mutex);
static inline void pool_host_unlock(struct pool_mutex *mutex);

static inline void pool_host_count(struct pool_counter *counter, long more);
static inline long pool_host_read(const struct pool_counter *counter);

/* Which regime is on; it may change between two calls. */
static inline bool pool_host_lockless(void);

/* Tracepoints: the lock is wanted; it was found taken. */
static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op);
static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op);

/* A block begins (+1) or ceases (-1) to rest in a pool: for the system's own statistics. */
static inline void pool_host_resting(struct pool_block *block, unsigned int order, int sign);

/*
 * A block of 2^@order zeroed pages, NULL if there is none. @patient: memory may be waited for and
 * reclaimed, as there is no smaller order to turn to. @charged: to the caller's control group.
 */
static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged);
/* Back to the system, content and all. */
static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order);
static inline unsigned int pool_host_block_order(struct pool_block *block);

/* Shall the caller give up, because it is being killed? */
static inline bool pool_host_killed(void);

#endif
