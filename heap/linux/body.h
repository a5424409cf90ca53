/* SPDX-License-Identifier: GPL-2.0 */
/*
 * body: the memory of a buffer. After the buffer has been released a kernel thread zeroes its pages
 * and adds them to the pools.
 */
#ifndef HEAP_LINUX_BODY_H
#define HEAP_LINUX_BODY_H

#include "store.h"

#include <linux/llist.h>

struct body {
	struct llist_node link;		/* in the list of bodies to be cleaned */
	struct store_chain chain;
	unsigned long nr_pages;
	enum store_kind kind;
	bool charged;
};

extern struct store body_store;

/* @nr_pages of zeroed memory. Sleeps. ERR_PTR: -ENOMEM; -EINTR if the caller is being killed. */
struct body *body_new(enum store_kind kind, unsigned long nr_pages, bool charged);
/* Frees the memory, usually by passing it to the cleaning thread. Sleeps. */
void body_free(struct body *body);

static inline struct page *body_first(const struct body *body)
{
	return (struct page *)body->chain.first;
}

static inline struct page *body_next(struct page *page)
{
	return (struct page *)pool_host_next((struct pool_block *)page);
}

/* Pages in use by buffers; freed pages that are still to be cleaned. */
unsigned long body_used_pages(void);
unsigned long body_uncleaned_pages(void);
/*
 * Frees @nr_pages, rounded up to whole blocks, or all if there are fewer: first those to be
 * cleaned, which saves cleaning them, then those in the pools. Returns the pages freed.
 */
unsigned long body_shrink(unsigned long nr_pages);

int body_init(void);
/* All bodies must have been freed. */
void body_exit(void);

#endif
