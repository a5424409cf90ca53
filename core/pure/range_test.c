// SPDX-License-Identifier: GPL-2.0
/* Full and empty spaces; tests/fuzz/range.c compares random steps with a model. */
#include "pure/range.h"
#include "check.h"

TEST(range_reserves_the_whole_space)
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

TEST(range_space_of_size_0)
{
	struct range_space space = { 0 };
	struct buffer_range range;

	CHECK(!range_reserve(&space, &range, 8));
	range_space_init(&space, 0);
	CHECK(!range_reserve(&space, &range, 8));
	CHECK(!range_first(&space));
}
