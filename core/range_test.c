// SPDX-License-Identifier: GPL-2.0
/* range against a model: a map of bytes, searched from the front each time. */
#include "range.h"
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#define UNIT   8
#define UNITS  (16 * 4096 / UNIT)
#define RANGES 300

struct model {
	bool used[UNITS];
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

static size_t pick_size(uint64_t *seed)
{
	static const size_t most[] = { 1, 4, 16, 128, 1024, 3000 };

	return (1 + unit_random(seed) % most[unit_random(seed) % 6]) * UNIT;
}

static void check_own_pages(struct model *model, const struct buffer_range *range)
{
	struct range_pages own = range_own_pages(range);
	struct range_pages all = range_all_pages(range);
	size_t page;

	model_set(model, range, false);
	for (page = all.first; page < all.first + all.nr; page++) {
		bool mine = page >= own.first && page < own.first + own.nr;

		CHECK(mine == !model_page_used(model, page));
	}
	model_set(model, range, true);
}

static void check_order(const struct range_space *space, u32 nr)
{
	const struct buffer_range *range;
	size_t end = 0;

	for (range = range_first(space); range; range = range_next(range), nr--) {
		CHECK(range->off >= end);
		end = range->off + range->size;
	}
	CHECK(nr == 0);
}

TEST(range_matches_a_model)
{
	struct model model = { 0 };
	struct buffer_range *in_use[RANGES] = { 0 };
	struct range_space space;
	uint64_t seed = 42;
	u32 nr = 0, step;

	range_space_init(&space, UNITS * UNIT);
	for (step = 0; step < 30000 && !unit_failed(); step++) {
		u32 i = unit_random(&seed) % RANGES;

		if (in_use[i]) {
			CHECK(range_find(&space, in_use[i]->off) == in_use[i]);
			check_own_pages(&model, in_use[i]);
			range_release(&space, in_use[i]);
			model_set(&model, in_use[i], false);
			free(in_use[i]);
			in_use[i] = NULL;
			nr--;
		} else {
			size_t size = pick_size(&seed);
			size_t best = model_best(&model, size / UNIT);
			struct buffer_range *range = malloc(sizeof(*range));

			if (!CHECK(range_reserve(&space, range, size) == (best <= UNITS)) ||
			    best > UNITS) {
				free(range);
				continue;
			}
			CHECK(model_gap(&model, range->off / UNIT) == best && range->size == size);
			model_set(&model, range, true);
			check_own_pages(&model, range);
			in_use[i] = range;
			nr++;
		}
		if (step % 64 == 0)
			check_order(&space, nr);
	}
	for (step = 0; step < RANGES; step++) {
		if (in_use[step])
			range_release(&space, in_use[step]);
		free(in_use[step]);
	}
	CHECK(space.head.gap == UNITS * UNIT);
}

TEST(range_gives_all_and_no_more)
{
	struct range_space space;
	struct buffer_range a, b, c;

	range_space_init(&space, 4096);
	CHECK(!range_reserve(&space, &a, 4097));
	CHECK(range_reserve(&space, &a, 4088));
	CHECK(range_reserve(&space, &b, 8) && b.off == 4088);
	CHECK(!range_reserve(&space, &c, 8));
	range_release(&space, &a);
	CHECK(!range_reserve(&space, &c, 4096));
	range_release(&space, &b);
	CHECK(range_reserve(&space, &c, 4096) && c.off == 0);
	CHECK(!range_find(&space, 8));
}

TEST(range_of_nothing_gives_nothing)
{
	struct range_space space = { 0 };
	struct buffer_range range;

	CHECK(!range_reserve(&space, &range, 8));
	range_space_init(&space, 0);
	CHECK(!range_reserve(&space, &range, 8));
	CHECK(!range_first(&space));
}
