// SPDX-License-Identifier: GPL-2.0
/*
 * The space of a process for buffers. Gaps follow from the buffers; but which of several equal gaps
 * the next buffer gets depends on the shape of their tree, so that is written too: the ranges that
 * have a gap, each before those below it. Two kinds of pages are written: the idle ones, the least
 * recently used first, and those whose memory a call was still asking for; the others are under a
 * buffer, or free.
 */
#include "state/state_stream.h"

/* ---- gaps ---------------------------------------------------------------------------- */

enum { GAP_LEFT = 1, GAP_RIGHT = 2, GAP_RED = 4, GAP_FLAGS = 3 /* bits */ };
#define GAP_DEPTH 48 /* more than a balanced tree of BINDER_MAX_BUFFERS has */

static struct buffer_range *gap_of(struct bt_node *node)
{
	return bt_entry(node, struct buffer_range, by_gap);
}

/* Writes the gap of a range, then those below it. */
static void write_gap(struct state_writer *w, struct bt_node *node)
{
	struct buffer_range *range = gap_of(node);
	u64 number = 0; /* the head's, which is in no buffer */

	if (range->size)
		number = state_number_of(&w->objects, STATE_BUFFER,
					 base_container_of(range, struct binder_buffer, range));

	state_add_number(&w->stream, number << GAP_FLAGS | (node->left ? GAP_LEFT : 0) |
					  (node->right ? GAP_RIGHT : 0) |
					  (node->red ? GAP_RED : 0));
	if (node->left)
		write_gap(w, node->left);
	if (node->right)
		write_gap(w, node->right);
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

/* What is left to be placed in the tree of gaps of @proc. */
struct gap_reader {
	struct state_reader *r;
	struct state_cursor *from;
	struct binder_proc *proc;
	size_t last; /* bytes of the gap before the next one in order */
	u32 left;    /* gaps */
};

/* The range of the stream; NULL: it is none of the process, as which it would tie two together. */
static struct buffer_range *read_gap_range(struct gap_reader *g, u64 number)
{
	struct binder_buffer *buffer = state_object(g->r, STATE_BUFFER, number);

	binder_assert_private(&g->proc->alloc.lock);
	if (!number)
		return &g->proc->alloc.space.head;
	return buffer && state_proc_of(g->r, (u32)number) == g->proc ? &buffer->range : NULL;
}

/*
 * Hangs the next gap, and those below it, into @slot below @parent. Returns how many black nodes
 * there are on each way down from there. 0: the gap is there already, or its range has none; or
 * they are not in order, or no red-black tree.
 */
static u32 read_gap(struct gap_reader *g, struct bt_node *parent, struct bt_node **slot, u32 depth)
{
	u64 number = state_take_number(g->from);
	struct buffer_range *range = read_gap_range(g, number >> GAP_FLAGS);
	struct bt_node *node = range ? &range->by_gap : NULL;
	u32 left = 1, right = 1;

	if (!range || !range->gap || bt_linked(node) || g->from->bad || depth == GAP_DEPTH)
		return 0;
	*node = (struct bt_node){ .parent = parent, .red = number & GAP_RED };
	*slot = node;
	if (number & GAP_LEFT)
		left = read_gap(g, node, &node->left, depth + 1);
	if (range->gap < g->last)
		left = 0;
	g->last = range->gap;
	g->left--;
	if (left && number & GAP_RIGHT)
		right = read_gap(g, node, &node->right, depth + 1);
	if (left != right || (node->red && (!parent || parent->red)))
		return 0;
	return left + !node->red;
}

static void read_gaps(struct state_reader *r, struct state_cursor *from, struct binder_proc *proc)
{
	struct range_space *space = &proc->alloc.space;
	struct gap_reader g = { .r = r, .from = from, .proc = proc };
	bool good;

	binder_assert_private(&proc->alloc.lock);
	space->by_gap = (struct bt_root)BT_ROOT;
	good = compute_gaps(&proc->alloc, &g.left);
	if (good && g.left)
		good = read_gap(&g, NULL, &space->by_gap.top, 0);
	if (!good || g.left)
		state_fail(r, -EINVAL, "the free space of its mapping");
}

void state_pass_gaps(struct state_part *part, void *object)
{
	struct binder_proc *proc = object;

	binder_assert_private(&proc->alloc.lock);
	proc->alloc.space.head.gap_user =
		(u32)state_pass_number(part, proc->alloc.space.head.gap_user);
	if (part->r)
		read_gaps(part->r, part->from, proc);
	else if (proc->alloc.space.by_gap.top)
		write_gap(part->w, proc->alloc.space.by_gap.top);
}

/* ---- pages --------------------------------------------------------------------------- */

static void write_pages(struct state_writer *w, struct binder_proc *proc)
{
	struct binder_pages *pages = &proc->alloc.pages;
	u32 at;

	binder_assert_private(&proc->alloc.lock);
	state_add_number(&w->stream, pages->high);
	state_add_number(&w->stream, pages->count[PAGE_AVAILABLE]);
	for (at = pages->oldest; at != PAGE_NOWHERE; at = pages->page[at].next)
		state_add_number(&w->stream, at);
	for (at = 0; at < pages->nr; at++) {
		u8 state = pages->page[at].state;

		if (state == PAGE_POPULATING || state == PAGE_REFILLING)
			state_add_number(&w->stream, at);
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

void state_pass_pages(struct state_part *part, void *object)
{
	struct binder_proc *proc = object;
	u8 *populating;

	if (part->w) {
		write_pages(part->w, proc);
		return;
	}
	populating = host_alloc(NULL, proc->alloc.pages.nr + 1);
	binder_assert_private(&proc->alloc.lock);
	if (populating)
		read_pages(part->from, &proc->alloc, populating);
	else
		state_fail(part->r, -ENOMEM, "no memory");
	host_free(populating);
}
