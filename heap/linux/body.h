/* SPDX-License-Identifier: GPL-2.0 */
/*
 * body: the memory of a buffer, and what becomes of it when the buffer is gone: a kernel thread
 * cleans the pages and lays them to rest in the pools.
 */
#ifndef HEAP_LINUX_BODY_H
#define HEAP_LINUX_BODY_H

#include "store.h"

#include <linux/llist.h>

struct body {
	struct llist_node link;		/* among the dead */
	struct store_chain chain;
	unsigned long nr_pages;
	enum store_kind kind;
	bool charged;
};

extern struct store body_store;

/* Memory of @nr_pages, all zeroes. Sleeps. ERR_PTR: -ENOMEM; -EINTR: the caller is being killed. */
struct body *body_new(enum store_kind kind, unsigned long nr_pages, bool charged);
/* Nobody uses it any more. Sleeps. */
void body_bury(struct body *body);

static inline struct page *body_first(const struct body *body)
{
	return (struct page *)body->chain.first;
}

static inline struct page *body_next(struct page *page)
{
	return (struct page *)pool_host_next((struct pool_block *)page);
}

/* Pages in use by buffers; pages of dead ones that are still to be cleaned. */
unsigned long body_used_pages(void);
unsigned long body_dead_pages(void);
/* Gives @nr_pages, or a little more, or all there are, back to the system: of the dead, which saves
 * the cleaning, then of the pools. Returns how many. */
unsigned long body_shrink(unsigned long nr_pages);

int body_init(void);
/* No body may be left in use. */
void body_exit(void);

#endif
