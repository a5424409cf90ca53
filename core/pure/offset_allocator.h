/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocator of ranges of offsets in a space of bytes, best fit.
 *
 * Pure: no locks, no host call, no allocation; the caller provides the struct buffer_range
 * of each range in use and serialises all access to a space. A range in use also describes
 * the free gap behind it, so that free space needs no nodes of its own: reserving splits a
 * gap, and releasing a range adds its bytes and its gap to the gap of the range before it.
 */
#ifndef BINDER_RANGE_H
#define BINDER_RANGE_H

#include "base/rbtree.h"

struct buffer_range {
	struct bt_node by_off; /* in space->by_off while in use */
	struct bt_node by_gap; /* in space->by_gap while gap > 0 */
	size_t off;	       /* first byte */
	size_t size;	       /* in bytes, more than 0 */
	size_t gap;	       /* free bytes behind it */
	u32 user;	       /* set by the caller, any number; 0: none */
	u32 earlier_user;      /* who had the last range that began where this one begins */
	u32 gap_user;	       /* who had the last range that began where the gap begins */
};

struct range_space {
	struct bt_root by_off;
	struct bt_root by_gap;
	struct buffer_range head; /* a range of size 0, before the first one */
};

/*
 * Initialises a space of @size bytes, all of them free; it must not be moved afterwards.
 * In a space that is all zeros nothing can be reserved.
 */
void range_space_init(struct range_space *space, size_t size);

/*
 * Reserves @size bytes (more than 0; the caller rounds up) at the start of the smallest gap
 * that is large enough. Sets range->off, ->size and ->earlier_user; the caller has set
 * ->user. Returns false, with nothing changed, if there is no such gap. O(log n)
 */
bool range_reserve(struct range_space *space, struct buffer_range *range, size_t size);

#ifdef HOST_HANDS_OVER
/* Inserts @range where it was in another space, whose gaps follow. False: one begins there. */
bool range_insert(struct range_space *space, struct buffer_range *range);
#endif

/* The range in use that starts at @off; NULL if there is none. O(log n) */
struct buffer_range *range_find(const struct range_space *space, size_t off);
/* The first range at offset @off or above; NULL: none. */
struct buffer_range *range_find_from(const struct range_space *space, size_t off);

/* The ranges in use by increasing offset; NULL at the end. */
struct buffer_range *range_first(const struct range_space *space);
struct buffer_range *range_next(const struct buffer_range *range);

/* A run of @nr pages of HOST_PAGE_SIZE bytes, from page @first. */
struct range_pages {
	size_t first;
	size_t nr;
};

/*
 * Releases @range, which was reserved. Returns the pages that no range overlaps any more,
 * possibly none. O(log n)
 */
struct range_pages range_release(struct range_space *space, struct buffer_range *range);

static inline size_t range_first_page(const struct buffer_range *range)
{
	return range->off / HOST_PAGE_SIZE;
}

static inline size_t range_last_page(const struct buffer_range *range)
{
	return (range->off + range->size - 1) / HOST_PAGE_SIZE;
}

/* The pages that @range overlaps. */
static inline struct range_pages range_all_pages(const struct buffer_range *range)
{
	size_t first = range_first_page(range);

	return (struct range_pages){ first, range_last_page(range) - first + 1 };
}

#endif
