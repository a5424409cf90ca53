// SPDX-License-Identifier: GPL-2.0
/* Full and empty spaces; tests/engine/fuzz/range.c compares random steps with a model. */
#include "pure/offset_allocator.h"
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

/*
 * Two gaps of 8 are left, and which is taken depends on the shape of the tree of gaps; in the stock
 * driver the one behind r[3], since its node went to the right of the gap that it was cut from.
 */
TEST(range_equal_gaps_are_taken_as_by_stock)
{
	struct range_space space;
	struct buffer_range r[6];

	range_space_init(&space, 1024);
	CHECK(range_reserve(&space, &r[0], 32) && r[0].off == 0);
	CHECK(range_reserve(&space, &r[1], 24) && r[1].off == 32);
	CHECK(range_reserve(&space, &r[2], 8) && r[2].off == 56);
	CHECK(range_reserve(&space, &r[3], 16) && r[3].off == 64);
	CHECK(range_reserve(&space, &r[4], 8) && r[4].off == 80);
	range_release(&space, &r[3]);
	CHECK(range_reserve(&space, &r[3], 8) && r[3].off == 64);
	CHECK(range_reserve(&space, &r[5], 16) && r[5].off == 88);
	range_release(&space, &r[0]);
	range_release(&space, &r[2]);
	CHECK(range_reserve(&space, &r[0], 16) && r[0].off == 0);
	CHECK(range_reserve(&space, &r[2], 8) && r[2].off == 72);
}
