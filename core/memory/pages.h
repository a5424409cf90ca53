/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of a map: which of them have memory, and which memory can be reclaimed. A page
 * keeps its memory when it is under no buffer any more, so that the next buffer needs no
 * host call; it is then on an LRU list, from which the system reclaims when it is short of
 * memory.
 *
 * "Locked" below means: the caller holds the spinlock of the struct binder_alloc that the
 * pages belong to. States change under it; the host is called outside it.
 */
#ifndef BINDER_PAGES_H
#define BINDER_PAGES_H

#include "common/lock.h"
#include "pure/offset_allocator.h"

enum binder_page_state {
	PAGE_FREE,	 /* no memory, no buffer */
	PAGE_POPULATING, /* under a buffer, memory is being allocated */
	PAGE_USED,	 /* under a buffer, with memory */
	PAGE_AVAILABLE,	 /* no buffer, with memory: on the LRU list */
	PAGE_EVICTING,	 /* no buffer, its memory is being removed */
	PAGE_REFILLING,	 /* under a buffer, its old memory is still being removed */
	PAGE_STATE_COUNT,
};

struct binder_page {
	u16 prev; /* neighbours on the LRU list, page numbers */
	u16 next;
	u8 state; /* enum binder_page_state */
};

struct binder_pages {
	struct binder_page *page; /* NULL before binder_pages_attach() */
	u32 nr;			  /* pages of the map */
	u16 oldest, newest;	  /* ends of the LRU list, or PAGE_NOWHERE */
	u32 count[PAGE_STATE_COUNT];
	u32 high; /* the maximum of pages with memory so far */
	bool shrinking;
	struct binder_pi_mutex evicting; /* held around host_map_evict() */
};

#define PAGE_NOWHERE 0xffff /* above all page numbers, which fit in u16 */

/* Initialises a set without pages. */
void binder_pages_init(struct binder_pages *pages);
/* Frees what binder_pages_attach() was given. No lock held; may sleep. */
void binder_pages_destroy(struct binder_pages *pages);

/*
 * Allocates the states of @nr pages of @owner, for binder_pages_attach(); may sleep. NULL: no
 * memory.
 */
struct binder_page *binder_pages_alloc(const struct host_proc *owner, size_t nr);
/* Sets the number of pages to @nr, all of them free; takes ownership of @page. Locked. */
void binder_pages_attach(struct binder_pages *pages, struct binder_page *page, size_t nr);

/* What the caller of binder_pages_claim() has to do after unlock. */
struct binder_pages_todo {
	struct range_pages populate; /* nr 0: nothing */
	bool wait;		     /* the old memory of a page is still being removed */
};

/* Puts a buffer on the pages @run; other buffers may be on them already. Locked. */
struct binder_pages_todo binder_pages_claim(struct binder_pages *pages, struct range_pages run);

/*
 * Populates the pages that binder_pages_claim() returned in @todo. Several threads may do so
 * for the same page at once. No lock held; may sleep. -ENOMEM, -ESRCH as
 * host_map_populate().
 */
int binder_pages_populate(struct binder_pages *pages, struct host_map *map,
			  const struct binder_pages_todo *todo);
/* Records that binder_pages_populate() succeeded for @run. Locked. */
void binder_pages_populated(struct binder_pages *pages, struct range_pages run);

/* Records that no buffer is on the pages @run any more. Locked. */
void binder_pages_release(struct binder_pages *pages, struct range_pages run);

/*
 * Evicts up to @max available pages, the least recently used first, and returns their
 * number; 0 at once if another thread is doing so, as it does not wait for others. @lock is
 * the spinlock of the pages, which the caller does not hold. May sleep.
 */
size_t binder_pages_shrink(struct binder_pages *pages, struct host_map *map,
			   struct binder_lock *lock, size_t max);

#endif
