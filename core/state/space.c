// SPDX-License-Identifier: GPL-2.0
/*
 * The space of a process for buffers. Gaps follow from the buffers; but which of several equal gaps
 * the next buffer gets depends on the shape of their tree, so that is written too: the ranges that
 * have a gap, each before those below it. Of the pages only the idle ones are written, the least
 * recently used first, and those whose memory a call was still asking for; the others are under a
 * buffer, or free.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/fields.h"

#include "things/proc.h"

/* ---- buffers ------------------------------------------------------------------------- */

static int compare_off(const struct bt_node *a, const struct bt_node *b)
{
	const struct buffer_range *x = bt_entry(a, struct buffer_range, by_off);
	const struct buffer_range *y = bt_entry(b, struct buffer_range, by_off);

	return x->off < y->off ? -1 : x->off > y->off;
}

static bool sizes_fit(const struct binder_buffer *b)
{
	const size_t most = BINDER_MAP_MAX_SIZE;

	return b->data_size <= most && b->offsets_size <= most && b->extra_size <= most &&
	       binder_buffer_align(b->data_size) + binder_buffer_align(b->offsets_size) +
			       binder_buffer_align(b->extra_size) <=
		       b->range.size;
}

bool state_enter_buffer(struct binder_proc *proc, struct binder_buffer *buffer)
{
	struct binder_alloc *alloc = &proc->alloc;
	struct buffer_range *range = &buffer->range;

	binder_assert_private(&alloc->lock);
	if (range->off > alloc->size || !range->size || range->size > alloc->size - range->off ||
	    range->off % 8 || range->size % 8 || !sizes_fit(buffer) ||
	    alloc->nr_buffers >= BINDER_MAX_BUFFERS ||
	    (buffer->async && range->size > alloc->async_free))
		return false;
	if (bt_insert(&alloc->space.by_off, &range->by_off, compare_off))
		return false;
	alloc->nr_buffers++;
	if (buffer->async)
		alloc->async_free -= range->size;
	return true;
}

/* ---- gaps ---------------------------------------------------------------------------- */

enum { GAP_LEFT = 1, GAP_RIGHT = 2, GAP_RED = 4, GAP_FLAGS = 3 /* bits */ };
#define GAP_DEPTH 48 /* more than a balanced tree of BINDER_MAX_BUFFERS has */

static struct buffer_range *gap_of(struct bt_node *node)
{
	return bt_entry(node, struct buffer_range, by_gap);
}

/* The next node, if each comes before those below it. */
static struct bt_node *next_below(struct bt_node *node)
{
	struct bt_node *below = node->left ? node->left : node->right;

	while (!below && node->parent) {
		if (node == node->parent->left)
			below = node->parent->right;
		node = node->parent;
	}
	return below;
}

static void write_gaps(struct state_writer *w, const void *object)
{
	struct binder_proc *proc = (struct binder_proc *)object;
	struct range_space *space = &proc->alloc.space;
	struct bt_node *node;

	binder_assert_private(&proc->alloc.lock);
	state_add_number(&w->out, space->head.gap_user);
	for (node = space->by_gap.top; node; node = next_below(node)) {
		struct buffer_range *range = gap_of(node);
		u64 number = range == &space->head ?
				     0 :
				     state_number_of(&w->objects, STATE_BUFFER,
						     base_container_of(range, struct binder_buffer,
								       range));

		state_add_number(&w->out, number << GAP_FLAGS | (node->left ? GAP_LEFT : 0) |
						  (node->right ? GAP_RIGHT : 0) |
						  (node->red ? GAP_RED : 0));
	}
}

/* Computes the gaps, in a space whose tree of gaps is empty. False: ranges overlap. */
static bool compute_gaps(struct binder_alloc *alloc, u32 *nr)
{
	struct range_space *space = &alloc->space;
	struct buffer_range *range = &space->head, *next = range_first(space);

	*nr = 0;
	while (range) {
		size_t end = range->off + range->size, limit = next ? next->off : alloc->size;

		if (end > limit)
			return false;
		range->gap = limit - end;
		*nr += range->gap > 0;
		bt_init(&range->by_gap);
		range = next;
		next = range ? range_next(range) : NULL;
	}
	return true;
}

/* Where the next node goes. */
struct gap_slots {
	struct {
		struct bt_node *parent;
		struct bt_node **slot;
	} slots[GAP_DEPTH];
	u32 nr;
};

static bool push_slot(struct gap_slots *slots, struct bt_node *parent, struct bt_node **slot)
{
	if (slots->nr == GAP_DEPTH)
		return false;
	slots->slots[slots->nr].parent = parent;
	slots->slots[slots->nr++].slot = slot;
	return true;
}

/* Hangs the gap of @range into the tree. False: it has none, or it is there already. */
static bool place_gap(struct gap_slots *slots, struct buffer_range *range, u64 flags)
{
	struct bt_node *node = &range->by_gap;

	if (!range->gap || bt_linked(node) || !slots->nr)
		return false;
	slots->nr--;
	node->parent = slots->slots[slots->nr].parent;
	*slots->slots[slots->nr].slot = node;
	node->left = NULL;
	node->right = NULL;
	node->red = flags & GAP_RED;
	if (flags & GAP_RIGHT && !push_slot(slots, node, &node->right))
		return false;
	return !(flags & GAP_LEFT) || push_slot(slots, node, &node->left);
}

/* The black nodes on each way down; 0: they differ, or the tree is no red-black tree. */
static u32 black_height(const struct bt_node *node)
{
	u32 left, right;

	if (!node)
		return 1;
	if (node->red && ((node->left && node->left->red) || (node->right && node->right->red)))
		return 0;
	left = black_height(node->left);
	right = black_height(node->right);
	return left && left == right ? left + !node->red : 0;
}

static bool gaps_are_sorted(const struct bt_root *root)
{
	struct bt_node *node = bt_first(root), *next;

	if (root->top && root->top->red)
		return false;
	for (; node; node = next) {
		next = bt_next(node);
		if (next && gap_of(next)->gap < gap_of(node)->gap)
			return false;
	}
	return black_height(root->top) != 0;
}

static void link_gaps(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct binder_proc *proc = object;
	struct range_space *space = &proc->alloc.space;
	struct gap_slots slots = { .nr = 0 };
	u32 nr, placed = 0;
	bool good;

	binder_assert_private(&proc->alloc.lock);
	space->head.gap_user = (u32)state_take_number(from);
	space->by_gap = (struct bt_root)BT_ROOT;
	good = compute_gaps(&proc->alloc, &nr);
	push_slot(&slots, NULL, &space->by_gap.top);
	for (; good && from->at < from->end; placed++) {
		u64 number = state_take_number(from);
		struct binder_buffer *buffer = state_object(r, STATE_BUFFER, number >> GAP_FLAGS);

		if (r->err)
			return;
		good = place_gap(&slots, buffer ? &buffer->range : &space->head, number);
		/* One of another process would tie the two together. */
		good &= !buffer || ((struct binder_proc **)r->procs.bytes)
					   [(number >> GAP_FLAGS) - 1] == proc;
	}
	if (!good || placed != nr || slots.nr != !nr || !gaps_are_sorted(&space->by_gap))
		state_fail(r, -EINVAL, "the free space of its mapping");
}

const struct state_own state_own_gaps = { write_gaps, NULL, link_gaps };

/* ---- pages --------------------------------------------------------------------------- */

static void write_pages(struct state_writer *w, const void *object)
{
	struct binder_proc *proc = (struct binder_proc *)object;
	struct binder_pages *pages = &proc->alloc.pages;
	u32 at;

	binder_assert_private(&proc->alloc.lock);
	state_add_number(&w->out, pages->high);
	state_add_number(&w->out, pages->count[PAGE_AVAILABLE]);
	for (at = pages->oldest; at != PAGE_NOWHERE; at = pages->page[at].next)
		state_add_number(&w->out, at);
	for (at = 0; at < pages->nr; at++) {
		u8 state = pages->page[at].state;

		if (state == PAGE_POPULATING || state == PAGE_REFILLING)
			state_add_number(&w->out, at);
	}
}

/* Pages under buffers have memory, but for those that the stream names. */
static void claim_pages(struct binder_alloc *alloc, const u8 *populating)
{
	struct buffer_range *range;
	size_t at;

	binder_assert_private(&alloc->lock);
	for (range = range_first(&alloc->space); range; range = range_next(range)) {
		struct range_pages run = range_all_pages(range);

		binder_pages_claim(&alloc->pages, run);
		for (at = run.first; at < run.first + run.nr; at++) {
			if (!populating[at])
				binder_pages_populated(&alloc->pages,
						       (struct range_pages){ at, 1 });
		}
	}
}

/* Makes a free page an idle one, the last to be reclaimed. */
static bool make_idle(struct binder_pages *pages, u64 at)
{
	const struct range_pages run = { (size_t)at, 1 };

	if (at >= pages->nr || pages->page[at].state != PAGE_FREE)
		return false;
	binder_pages_claim(pages, run);
	binder_pages_populated(pages, run);
	binder_pages_release(pages, run);
	return true;
}

static void read_pages(struct state_cursor *from, struct binder_alloc *alloc, u8 *populating)
{
	struct binder_pages *pages = &alloc->pages;
	u64 high = state_take_number(from), idle = state_take_number(from), at;
	struct state_cursor idle_from = *from;
	u64 i;

	for (i = 0; i < idle && !from->bad; i++)
		state_take_number(from);
	while (from->at < from->end && !from->bad) {
		at = state_take_number(from);
		if (at >= pages->nr)
			from->bad = true;
		else
			populating[at] = 1;
	}
	if (from->bad || high > pages->nr) {
		from->bad = true;
		return;
	}
	claim_pages(alloc, populating);
	for (i = 0; i < idle; i++)
		from->bad |= !make_idle(pages, state_take_number(&idle_from));
	pages->high = (u32)high;
}

static void link_pages(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct binder_proc *proc = object;
	u8 *populating = host_alloc(NULL, proc->alloc.pages.nr + 1);

	binder_assert_private(&proc->alloc.lock);
	if (populating)
		read_pages(from, &proc->alloc, populating);
	else
		state_fail(r, -ENOMEM, "no memory");
	host_free(populating);
}

const struct state_own state_own_pages = { write_pages, NULL, link_pages };
