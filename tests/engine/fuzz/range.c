// SPDX-License-Identifier: GPL-2.0
/* Compares the range allocator with a map of bytes that is searched from the start each time. */
#include "pure/offset_allocator.h"
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#define UNIT   8
#define UNITS  (16 * 4096 / UNIT)
#define RANGES 256
#define STEPS  30000

struct model {
	bool used[UNITS];
	struct range_space space;
	struct buffer_range *in_use[RANGES];
	u32 nr;
};

/* The size of the gap that starts at @at, 0 if none does. */
static size_t model_gap(const struct model *model, size_t at)
{
	size_t len = 0;

	if (at && !model->used[at - 1])
		return 0;
	while (at + len < UNITS && !model->used[at + len])
		len++;
	return len;
}

/* The size of the smallest gap that has @units; more than UNITS if none has. */
static size_t model_best(const struct model *model, size_t units)
{
	size_t best = UNITS + 1, at, len;

	for (at = 0; at < UNITS; at += len + 1) {
		len = model_gap(model, at);
		if (len >= units && len < best)
			best = len;
	}
	return best;
}

static bool model_page_used(const struct model *model, size_t page)
{
	return memchr(model->used + page * 4096 / UNIT, true, 4096 / UNIT) != NULL;
}

static void model_set(struct model *model, const struct buffer_range *range, bool used)
{
	memset(model->used + range->off / UNIT, used, range->size / UNIT);
}

/* Releases @range, and compares the pages that it says are free now. */
static bool release_right(struct model *model, struct buffer_range *range)
{
	struct range_pages all = range_all_pages(range);
	struct range_pages own = range_release(&model->space, range);
	bool right = true;
	size_t page;

	model_set(model, range, false);
	for (page = all.first; page < all.first + all.nr; page++) {
		bool mine = page >= own.first && page < own.first + own.nr;

		if (mine == model_page_used(model, page))
			right = fuzz_wrong("a page that others use is not a range's own");
	}
	return right;
}

static bool order_right(const struct model *model)
{
	const struct buffer_range *range;
	size_t end = 0;
	u32 nr = 0;

	for (range = range_first(&model->space); range; range = range_next(range), nr++) {
		if (range->off < end)
			return fuzz_wrong("ranges in use stand in order, apart");
		end = range->off + range->size;
	}
	return nr == model->nr || fuzz_wrong("every range in use is found, once");
}

static bool reserve(struct model *model, struct buffer_range **slot, size_t units)
{
	struct buffer_range *range = malloc(sizeof(*range));
	size_t best = model_best(model, units);

	if (range_reserve(&model->space, range, units * UNIT) != (best <= UNITS)) {
		free(range);
		return fuzz_wrong("a range is given out if a gap has room, and only then");
	}
	if (best > UNITS) {
		free(range);
		return true;
	}
	*slot = range;
	model->nr++;
	if (model_gap(model, range->off / UNIT) != best || range->size != units * UNIT)
		return fuzz_wrong("the smallest gap that fits is taken, at its start");
	model_set(model, range, true);
	return true;
}

static bool release(struct model *model, struct buffer_range **slot)
{
	bool right = true;

	if (range_find(&model->space, (*slot)->off) != *slot)
		right = fuzz_wrong("a range in use is found by its offset");
	right = release_right(model, *slot) && right;
	free(*slot);
	*slot = NULL;
	model->nr--;
	return right;
}

static size_t pick_units(struct choices *c)
{
	static const u16 most[] = { 1, 4, 16, 128, 1024, 3000 };

	return 1 + choose(c, most[choose(c, 6)]);
}

bool fuzz_range(struct choices *c)
{
	struct model *model = calloc(1, sizeof(*model));
	bool right = true;
	u32 step, i;

	range_space_init(&model->space, UNITS * UNIT);
	for (step = 0; step < STEPS && right && !choices_over(c); step++) {
		i = choose(c, RANGES);
		if (model->in_use[i])
			right = release(model, &model->in_use[i]);
		else
			right = reserve(model, &model->in_use[i], pick_units(c));
		if (right && step % 64 == 0)
			right = order_right(model);
	}
	for (i = 0; i < RANGES; i++) {
		if (model->in_use[i])
			right = release(model, &model->in_use[i]) && right;
	}
	if (right && model->space.head.gap != UNITS * UNIT)
		right = fuzz_wrong("when nothing is in use, all is one gap");
	free(model);
	return right;
}
