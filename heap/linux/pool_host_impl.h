/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool_host.h in the kernel. A block is a compound page (or a single page) owned by this module
 * alone; its link overlays page->lru, which the kernel does not use for such a page.
 */
#ifndef HEAP_LINUX_POOL_HOST_IMPL_H
#define HEAP_LINUX_POOL_HOST_IMPL_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/vmstat.h>

#include "heap_events.h"
#include "pages.h"

struct pool_block {
	struct page page;
};

struct pool_stack {
	struct llist_head head;
};

struct pool_mutex {
	struct mutex lock;
};

struct pool_counter {
	atomic_long_t value;
};

static inline struct llist_node *pool_link(struct pool_block *block)
{
	BUILD_BUG_ON(sizeof(struct llist_node) > sizeof(block->page.lru));
	return (struct llist_node *)&block->page.lru;
}

static inline struct pool_block *pool_linked(struct llist_node *link)
{
	return link ? container_of((struct list_head *)link, struct pool_block, page.lru) : NULL;
}

static inline struct pool_block *pool_host_next(struct pool_block *block)
{
	return pool_linked(pool_link(block)->next);
}

static inline void pool_host_set_next(struct pool_block *block, struct pool_block *next)
{
	pool_link(block)->next = next ? pool_link(next) : NULL;
}

static inline void pool_host_push(struct pool_stack *stack, struct pool_block *block)
{
	llist_add(pool_link(block), &stack->head);
}

static inline struct pool_block *pool_host_take_all(struct pool_stack *stack)
{
	return pool_linked(llist_del_all(&stack->head));
}

static inline void pool_host_mutex_init(struct pool_mutex *mutex)
{
	mutex_init(&mutex->lock);
}

static inline bool pool_host_trylock(struct pool_mutex *mutex)
{
	return mutex_trylock(&mutex->lock);
}

static inline void pool_host_lock(struct pool_mutex *mutex)
{
	mutex_lock(&mutex->lock);
}

static inline void pool_host_unlock(struct pool_mutex *mutex)
{
	mutex_unlock(&mutex->lock);
}

static inline void pool_host_count(struct pool_counter *counter, long more)
{
	atomic_long_add(more, &counter->value);
}

static inline long pool_host_read(const struct pool_counter *counter)
{
	return atomic_long_read(&counter->value);
}

static inline unsigned int pool_host_cpu(void)
{
	return raw_smp_processor_id();
}

static inline bool pool_host_lockless(void)
{
	return !static_branch_unlikely(&pages_locking_mutex);
}

static inline void pool_host_lock_try(const struct pool *pool, enum pool_op op)
{
	trace_heap_pool_lock_try(pool, op);
}

static inline void pool_host_lock_taken(const struct pool *pool, enum pool_op op)
{
	trace_heap_pool_lock_taken(pool, op);
}

/* Counted as reclaimable kernel memory, and so part of MemAvailable in /proc/meminfo. */
static inline void pool_host_account_pooled(struct pool_block *block, unsigned int order, int sign)
{
	mod_node_page_state(page_pgdat(&block->page), NR_KERNEL_MISC_RECLAIMABLE,
			    sign * (1L << order));
}

static inline struct pool_block *pool_host_block_alloc(bool uncached, unsigned int order,
							bool patient, bool charged)
{
	return (struct pool_block *)pages_alloc(uncached, order, patient, charged);
}

static inline void pool_host_block_free(struct pool_block *block, bool uncached,
					unsigned int order)
{
	pages_free(&block->page, uncached, order);
}

static inline unsigned int pool_host_block_order(struct pool_block *block)
{
	return compound_order(&block->page);
}

static inline bool pool_host_killed(void)
{
	return fatal_signal_pending(current);
}

#endif
