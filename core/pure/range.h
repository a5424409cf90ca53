/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offsets of a space of bytes, given out best fit and taken back.
 *
 * Pure: no locks, no host call, no allocation.  A range in use knows the free
 * gap behind it, so that free space needs no nodes of its own: giving a range
 * out splits a gap, and taking it back joins its bytes and its gap to the gap
 * of the range before.  The caller brings one struct buffer_range per range in use.
 */
#ifndef BINDER_RANGE_H
#define BINDER_RANGE_H

#include "base/rbtree.h"

#define RANGE_PAGE_SIZE ((size_t)4096)

struct buffer_range {
	struct bt_node by_off; /* in space->by_off while in use */
	struct bt_node by_gap; /* in space->by_gap while gap > 0 */
	size_t off;	       /* first byte */
	size_t size;	       /* in bytes, more than 0 */
	size_t gap;	       /* free bytes behind it */
	u32 user;	       /* the caller's word for who uses it; 0 nobody */
	u32 earlier_user;      /* of the range that was released where this one starts */
	u32 gap_user;	       /* likewise, of the gap's start */
};

struct range_space {
	struct bt_root by_off;
	struct bt_root by_gap;
	struct buffer_range head; /* of no size, before the first one */
};

/* A space of @size bytes, all free.  A space of zeros gives nothing out.  It may
 * not be moved afterwards. */
void range_space_init(struct range_space *space, size_t size);

/* Gives @size bytes (more than 0; the caller rounds) out of the smallest gap
 * that fits, at its start.  Sets range->off, ->size and ->earlier_user; the
 * caller has set ->user.  False, and nothing changed, if no gap fits.  O(log n) */
bool range_reserve(struct range_space *space, struct buffer_range *range, size_t size);

/* The range in use that starts at @off, NULL if there is none.  O(log n) */
struct buffer_range *range_find(const struct range_space *space, size_t off);

/* Ranges in use in order of offset; NULL at the end. */
struct buffer_range *range_first(const struct range_space *space);
struct buffer_range *range_next(const struct buffer_range *range);

/* Pages of 4 KiB: a run of @nr pages from page @first. */
struct range_pages {
	size_t first;
	size_t nr;
};

/* Takes back what range_reserve() gave.  O(log n).  Returns the pages that no range
 * lies on any more; may be none. */
struct range_pages range_release(struct range_space *space, struct buffer_range *range);

/* Every page that @range lies on. */
struct range_pages range_all_pages(const struct buffer_range *range);

#endif
