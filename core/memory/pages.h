/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages of a map have memory behind them, and which of those could do
 * without.  A page that no buffer lies on any more keeps its memory, so that
 * the next buffer costs no host call; it waits at the end of a list, least
 * recently used first, until the system is short of memory and shrinks it.
 *
 * "The lock" below is the spinlock of the struct binder_alloc that the pages
 * belong to.  State changes are decided under it and acted on outside it.
 */
#ifndef BINDER_PAGES_H
#define BINDER_PAGES_H

#include "common/lock.h"
#include "pure/range.h"

enum binder_page_state {
	PAGE_FREE,	 /* no memory, no buffer */
	PAGE_POPULATING, /* a buffer, memory is on its way */
	PAGE_USED,	 /* a buffer and memory */
	PAGE_AVAILABLE,	 /* memory but no buffer: on the LRU list */
	PAGE_EVICTING,	 /* no buffer, its memory is being taken away */
	PAGE_REFILLING,	 /* a buffer, the old memory is still being taken away */
	PAGE_STATE_COUNT,
};

struct binder_page {
	u16 prev; /* neighbours in the LRU list, page numbers */
	u16 next;
	u8 state; /* enum binder_page_state */
};

struct binder_pages {
	struct binder_page *page; /* NULL before binder_pages_attach() */
	u32 nr;			  /* pages of the map */
	u16 oldest, newest;	  /* ends of the LRU list, or PAGE_NOWHERE */
	u32 count[PAGE_STATE_COUNT];
	u32 high; /* the most pages that ever had memory at once */
	bool shrinking;
	struct binder_pi_mutex evicting; /* held over host_map_evict() */
};

#define PAGE_NOWHERE 0xffff
/* Page numbers fit in u16, PAGE_NOWHERE excepted. */
#define BINDER_PAGES_MAX ((size_t)PAGE_NOWHERE)

/* No pages at all.  Pair: binder_pages_destroy(), which frees; may sleep. */
void binder_pages_init(struct binder_pages *pages);
void binder_pages_destroy(struct binder_pages *pages);

/* The memory for the states of @nr pages, to be passed to attach; NULL if there
 * is none.  May sleep. */
struct binder_page *binder_pages_alloc(size_t nr);
/* The map has @nr pages, all free.  @page then belongs to @pages.  The lock. */
void binder_pages_attach(struct binder_pages *pages, struct binder_page *page, size_t nr);

/* What binder_pages_claim() found to be done outside the lock. */
struct binder_pages_todo {
	struct range_pages populate; /* nr 0: nothing */
	bool wait;		     /* the old memory of one is still being taken away */
};

/* A buffer lies on these pages from now on (others may already).  The lock. */
struct binder_pages_todo binder_pages_claim(struct binder_pages *pages, struct range_pages run);

/* Does what claim asked for.  Several callers may do so at once for the same
 * page.  No lock held; may sleep.  -ENOMEM, -ESRCH as host_map_populate(). */
int binder_pages_populate(struct binder_pages *pages, struct host_map *map,
			  struct binder_pages_todo todo);
/* It was done: @run has memory.  The lock. */
void binder_pages_populated(struct binder_pages *pages, struct range_pages run);

/* No buffer lies on these pages any more.  The lock. */
void binder_pages_release(struct binder_pages *pages, struct range_pages run);

/* Takes the memory of up to @max available pages away, the least recently used
 * first, and returns of how many.  0 at once if somebody is at it already: it
 * never waits for work of others.  @lock: the lock, not held.  May sleep. */
size_t binder_pages_shrink(struct binder_pages *pages, struct host_map *map,
			   struct binder_lock *lock, size_t max);

#endif
