// SPDX-License-Identifier: GPL-2.0
/*
 * The buffer allocator in every order of freeing: NR buffers side by side, each of which ends
 * before, at or behind the end of a page, are freed in each order, and after each number of frees
 * another buffer is allocated. What it does is compared with a model that knows nothing but
 * bytes: where the smallest gap is, and which pages a buffer is on.
 *
 *   alloc_exhaustive [BUFFERS]    1 to 6, default 5
 */
#include "memory/buffer_alloc.h"

#include "tests/lib/tap.h"
#include "tests/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NR_MAX	  6
#define PAGES	  20u
#define PAGE	  HOST_PAGE_SIZE
#define SPACE	  (PAGES * PAGE)
#define REFILLS	  3
#define WAYS	  4 /* which buffers are of one-way calls */

static const u8 oneway_of[WAYS] = { 0, 0x3f, 0x15, 0x2a };
static const size_t refill_size[REFILLS] = { 8, PAGE, 2 * PAGE + 8 };

static struct binder_alloc alloc;
static struct host_proc proc;
static u64 cases, operations;

/* ---- the model -------------------------------------------------------------------------- */

static struct model {
	struct binder_buffer *buffer[NR_MAX + 1]; /* NULL: none */
	size_t off[NR_MAX + 1], size[NR_MAX + 1];
	bool oneway[NR_MAX + 1];
	u32 on_page[PAGES]; /* buffers */
	bool memory[PAGES];
	size_t oneway_left;
	u32 nr;
} model;

static void __attribute__((noreturn)) wrong(const char *what, size_t got, size_t due)
{
	u32 i;

	printf("case %llu: %s: %zu, not %zu\n", (unsigned long long)cases, what, got, due);
	for (i = 0; i <= NR_MAX; i++)
		if (model.buffer[i])
			printf("  buffer %u at %zu, %zu bytes\n", i, model.off[i], model.size[i]);
	exit(1);
}

/* The gap that begins at @from; @from may be inside a buffer, or be where there is none. */
static size_t gap_at(size_t from)
{
	size_t end = SPACE;
	u32 i;

	for (i = 0; i <= NR_MAX; i++) {
		if (!model.buffer[i])
			continue;
		if (from >= model.off[i] && from < model.off[i] + model.size[i])
			return 0;
		if (model.off[i] >= from && model.off[i] < end)
			end = model.off[i];
	}
	return end - from;
}

/* The smallest gap of @size bytes or more; 0: none. */
static size_t best_gap(size_t size)
{
	size_t gap = gap_at(0), best = gap >= size ? gap : 0;
	u32 i;

	for (i = 0; i <= NR_MAX; i++) {
		gap = model.buffer[i] ? gap_at(model.off[i] + model.size[i]) : 0;
		if (gap >= size && (!best || gap < best))
			best = gap;
	}
	return best;
}

static void put_on_pages(size_t off, size_t size, u32 change)
{
	size_t page;

	for (page = off / PAGE; page <= (off + size - 1) / PAGE; page++) {
		model.on_page[page] += change;
		model.memory[page] = true;
	}
}

static void compare(void)
{
	u32 used = 0, idle = 0, page;

	for (page = 0; page < PAGES; page++) {
		u8 due = model.on_page[page] ? PAGE_USED
			 : model.memory[page] ? PAGE_AVAILABLE : PAGE_FREE;

		if (alloc.pages.page[page].state != due)
			wrong("state of a page", alloc.pages.page[page].state, due);
		used += due == PAGE_USED;
		idle += due == PAGE_AVAILABLE;
	}
	if (alloc.pages.count[PAGE_USED] != used || alloc.pages.count[PAGE_AVAILABLE] != idle)
		wrong("pages in use", alloc.pages.count[PAGE_USED], used);
	if (alloc.nr_buffers != model.nr)
		wrong("buffers", alloc.nr_buffers, model.nr);
	if (alloc.async_free != model.oneway_left)
		wrong("space of one-way calls", alloc.async_free, model.oneway_left);
	operations++;
}

/* ---- operations ------------------------------------------------------------------------- */

static void get(u32 at, size_t size, bool oneway)
{
	const struct binder_buffer_request request = { .data_size = size, .async = oneway };
	size_t best = oneway && size > model.oneway_left ? 0 : best_gap(size);
	struct binder_buffer *b;
	int err = 0;

	b = binder_alloc_new_buffer(&alloc, &proc, &request, &err);
	if (!b != !best)
		wrong("a buffer was allocated", b != NULL, best);
	if (!b)
		return;
	if (b->range.size != size || (b->range.off && gap_at(b->range.off - 1)) ||
	    gap_at(b->range.off) != best)
		wrong("a buffer in another gap than the smallest", gap_at(b->range.off), best);
	binder_buffer_allow_user_free(b);
	model.buffer[at] = b;
	model.off[at] = b->range.off;
	model.size[at] = size;
	model.oneway[at] = oneway;
	model.oneway_left -= oneway ? size : 0;
	model.nr++;
	put_on_pages(b->range.off, size, 1);
	compare();
}

static void put(u32 at)
{
	struct binder_buffer *b;
	int err;

	if (!model.buffer[at])
		return;
	b = binder_alloc_claim_buffer(&alloc, alloc.base + model.off[at], ~0u, &err);
	if (b != model.buffer[at])
		wrong("a buffer is not found", model.off[at], at);
	binder_alloc_free_buffer(&alloc, b);
	model.buffer[at] = NULL;
	model.oneway_left += model.oneway[at] ? model.size[at] : 0;
	model.nr--;
	put_on_pages(model.off[at], model.size[at], (u32)-1);
	compare();
}

/* ---- cases ------------------------------------------------------------------------------ */

/* Where a buffer ends that begins at @off. */
static size_t end_of(size_t off, u32 kind)
{
	size_t next = off - off % PAGE + PAGE; /* the end of the page that it begins on */

	switch (kind) {
	case 0:
		return off + 8; /* which may be the end of the page */
	case 1: /* on the same page, without the last 8 bytes */
		return next - 8 > off ? next - 8 : next + PAGE - 8;
	case 2:
		return next;
	case 3:
		return next + 8;
	case 4:
		return next + PAGE;
	default:
		return next + PAGE + 8;
	}
}
#define KINDS 6

static void run_case(const u8 *kinds, const u8 *order, u32 nr, u32 refill_after)
{
	u8 oneway = oneway_of[cases % WAYS];
	size_t off = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		size_t end = end_of(off, kinds[i]);

		get(i, end - off, oneway >> i & 1);
		off = model.buffer[i] ? end : off;
	}
	for (i = 0; i < nr; i++) {
		put(order[i]);
		if (i == refill_after)
			get(NR_MAX, refill_size[cases / WAYS % REFILLS], cases & 1);
	}
	put(NR_MAX);
	cases++;
}

/* Nothing is left, and the whole space is one gap again. */
static void start_again(void)
{
	size_t pages = alloc.pages.count[PAGE_AVAILABLE];

	if (binder_alloc_shrink(&alloc, PAGES) != pages)
		wrong("pages that were evicted", 0, pages);
	memset(model.memory, 0, sizeof(model.memory));
	compare();
	get(0, SPACE, false);
	put(0);
	binder_alloc_shrink(&alloc, PAGES);
	memset(model.memory, 0, sizeof(model.memory));
}

/* The permutation after @order; false: that was the last one. */
static bool next_order(u8 *order, u32 nr)
{
	u32 i = nr - 1, j = nr - 1;
	u8 x;

	while (i && order[i - 1] > order[i])
		i--;
	if (!i)
		return false;
	while (order[j] < order[i - 1])
		j--;
	x = order[i - 1];
	order[i - 1] = order[j];
	order[j] = x;
	for (j = nr - 1; i < j; i++, j--) {
		x = order[i];
		order[i] = order[j];
		order[j] = x;
	}
	return true;
}

static void run_sizes(const u8 *kinds, u32 nr)
{
	u8 order[NR_MAX];
	u32 i;

	for (i = 0; i < nr; i++)
		order[i] = (u8)i;
	do
		for (i = 0; i < nr; i++)
			run_case(kinds, order, nr, i);
	while (next_order(order, nr));
	start_again();
}

int main(int argc, char **argv)
{
	u32 nr, sizes = 1, i, j;
	clock_t began = clock();
	u8 kinds[NR_MAX];
	struct tap tap = { 0 };

	version_if_asked(argc, argv);
	nr = argc > 1 ? (u32)strtoul(argv[1], NULL, 0) : 5;
	if (nr < 1 || nr > NR_MAX)
		return 2;
	proc.sim = sim_proc_new(1, 0, SPACE);
	binder_alloc_init(&alloc);
	alloc.map.sim = proc.sim;
	if (binder_alloc_attach(&alloc, &proc, SIM_MAP_BASE, SPACE))
		return 2;
	model.oneway_left = SPACE / 2;
	for (i = 0; i < nr; i++)
		sizes *= KINDS;
	for (i = 0; i < sizes; i++) {
		u32 rest = i;

		for (j = 0; j < nr; j++, rest /= KINDS)
			kinds[j] = (u8)(rest % KINDS);
		run_sizes(kinds, nr);
	}
	binder_alloc_destroy(&alloc);
	printf("%llu cases, %llu operations compared, %.1f s of processor time\n",
	       (unsigned long long)cases, (unsigned long long)operations,
	       (double)(clock() - began) / CLOCKS_PER_SEC);
	tap_case(&tap, true, "every order of freeing");
	return tap_end(&tap);
}
