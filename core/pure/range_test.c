// SPDX-License-Identifier: GPL-2.0
/* The corners of a space; tests/fuzz/range.c plays it against a model. */
#include "pure/range.h"
#include "check.h"

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
