// SPDX-License-Identifier: GPL-2.0
/*
 * A space is a sequence of ranges in use, each followed by a gap that may be empty. A head
 * of size 0 precedes the first range, so that every gap follows a range. One tree has the
 * ranges by offset, the other the non-empty gaps by size. Gaps of equal size are in the
 * order of their insertion, and insertions have the same order as in the C driver, so
 * that buffers get the same offsets as there.
 */
#include "pure/offset_allocator.h"

static int compare_off(const struct bt_node *a, const struct bt_node *b)
{
	const struct buffer_range *x = bt_entry(a, struct buffer_range, by_off);
	const struct buffer_range *y = bt_entry(b, struct buffer_range, by_off);

	return x->off < y->off ? -1 : x->off > y->off;
}

static size_t gap_off(const struct buffer_range *range)
{
	return range->off + range->size;
}

static int compare_gap(const struct bt_node *a, const struct bt_node *b)
{
	const struct buffer_range *x = bt_entry(a, struct buffer_range, by_gap);
	const struct buffer_range *y = bt_entry(b, struct buffer_range, by_gap);

	return x->gap < y->gap ? -1 : 1;
}

static int compare_want(const void *key, const struct bt_node *node)
{
	size_t want = *(const size_t *)key, gap = bt_entry(node, struct buffer_range, by_gap)->gap;

	return want < gap ? -1 : want > gap;
}

static int compare_key_off(const void *key, const struct bt_node *node)
{
	size_t off = *(const size_t *)key;
	size_t other = bt_entry(node, struct buffer_range, by_off)->off;

	return off < other ? -1 : off > other;
}

static void set_gap(struct range_space *space, struct buffer_range *range, size_t gap)
{
	bt_erase(&space->by_gap, &range->by_gap);
	range->gap = gap;
	if (gap)
		bt_insert(&space->by_gap, &range->by_gap, compare_gap);
}

void range_space_init(struct range_space *space, size_t size)
{
	space->by_off = (struct bt_root)BT_ROOT;
	space->by_gap = (struct bt_root)BT_ROOT;
	space->head.off = 0;
	space->head.size = 0;
	space->head.gap_user = 0;
	bt_init(&space->head.by_off);
	bt_init(&space->head.by_gap);
	set_gap(space, &space->head, size);
}

/* Moves the only gap of the space from behind @from to behind @to, with @gap bytes. */
static void move_only_gap(struct range_space *space, struct buffer_range *from,
			  struct buffer_range *to, size_t gap)
{
	from->gap = 0;
	bt_init(&from->by_gap);
	to->gap = gap;
	bt_link_only(&space->by_gap, &to->by_gap);
}

bool range_reserve(struct range_space *space, struct buffer_range *range, size_t size)
{
	struct bt_node *node = bt_lower_bound(&space->by_gap, &size, compare_want);
	struct buffer_range *before;
	size_t left;

	if (!node)
		return false;
	before = bt_entry(node, struct buffer_range, by_gap);
	left = before->gap - size;
	range->off = gap_off(before);
	range->size = size;
	bt_init(&range->by_off);
	bt_init(&range->by_gap);
	range->earlier_user = before->gap_user;
	range->gap_user = 0; /* no range ever started where the rest of the gap does */
	if (left && bt_is_only(&space->by_gap, node)) {
		move_only_gap(space, before, range, left);
	} else {
		/*
		 * The shape of the tree decides which of several equal gaps is found, so it is
		 * made as the C driver makes it: the rest is inserted before the gap is
		 * removed, which by then counts as the part that is taken.
		 */
		before->gap = size;
		set_gap(space, range, left);
		set_gap(space, before, 0);
	}
	bt_insert(&space->by_off, &range->by_off, compare_off);
	return true;
}

#ifdef HOST_HANDS_OVER
bool range_insert(struct range_space *space, struct buffer_range *range)
{
	return !bt_insert(&space->by_off, &range->by_off, compare_off);
}
#endif

static struct buffer_range *range_of(struct bt_node *node)
{
	return node ? bt_entry(node, struct buffer_range, by_off) : NULL;
}

struct buffer_range *range_find(const struct range_space *space, size_t off)
{
	return range_of(bt_find(&space->by_off, &off, compare_key_off));
}

struct buffer_range *range_find_from(const struct range_space *space, size_t off)
{
	return range_of(bt_lower_bound(&space->by_off, &off, compare_key_off));
}

struct buffer_range *range_first(const struct range_space *space)
{
	return range_of(bt_first(&space->by_off));
}

struct buffer_range *range_next(const struct buffer_range *range)
{
	return range_of(bt_next(&range->by_off));
}

/*
 * The pages that @range overlaps and its neighbours do not; no other range can overlap
 * them.
 */
static struct range_pages own_pages(const struct buffer_range *range,
				    const struct buffer_range *before,
				    const struct buffer_range *after)
{
	size_t first = range_first_page(range);
	size_t end = range_last_page(range) + 1;

	if (before && range_last_page(before) == first)
		first++;
	if (after && range_first_page(after) == end - 1)
		end--;
	return (struct range_pages){ first, end > first ? end - first : 0 };
}

/* Releases the only range, when the only gap is behind it: the whole space becomes free. */
static struct range_pages release_only(struct range_space *space, struct buffer_range *range)
{
	space->head.gap_user = range->user;
	bt_erase(&space->by_off, &range->by_off);
	move_only_gap(space, range, &space->head, range->size + range->gap);
	return range_all_pages(range);
}

/* In the general case, apart from the usual one, which then needs few registers. */
static noinline struct range_pages release_among(struct range_space *space,
						 struct buffer_range *range)
{
	struct buffer_range *before = range_of(bt_prev(&range->by_off));
	struct range_pages own = own_pages(range, before, range_next(range));
	size_t bytes = range->size + range->gap;

	if (!before)
		before = &space->head;
	if (!before->gap)
		before->gap_user = range->user;
	set_gap(space, range, 0);
	bt_erase(&space->by_off, &range->by_off);
	set_gap(space, before, before->gap + bytes);
	return own;
}

struct range_pages range_release(struct range_space *space, struct buffer_range *range)
{
	if (bt_is_only(&space->by_off, &range->by_off) &&
	    bt_is_only(&space->by_gap, &range->by_gap))
		return release_only(space, range);
	return release_among(space, range);
}
