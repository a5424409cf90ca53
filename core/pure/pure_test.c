// SPDX-License-Identifier: GPL-2.0
/* The parts that know nothing of a host. */
#include "common/abi.h"
#include "pure/flat_object.h"
#include "pure/offset_allocator.h"
#include "pure/priority_flags.h"
#include "pure/sg_plan.h"
#include "host.h"
#include "check.h"

#include <stdlib.h>

/* ---- flat_object.c: types of objects, and their offsets -------------------------------------- */

TEST(object_sizes)
{
	CHECK(binder_object_size(BINDER_TYPE_BINDER) == 24);
	CHECK(binder_object_size(BINDER_TYPE_WEAK_BINDER) == 24);
	CHECK(binder_object_size(BINDER_TYPE_HANDLE) == 24);
	CHECK(binder_object_size(BINDER_TYPE_WEAK_HANDLE) == 24);
	CHECK(binder_object_size(BINDER_TYPE_FD) == 24);
	CHECK(binder_object_size(BINDER_TYPE_FDA) == 32);
	CHECK(binder_object_size(BINDER_TYPE_PTR) == 40);
	CHECK(binder_object_size(0) == 0);
	CHECK(binder_object_size(BINDER_TYPE_PTR + 1) == 0);
}

TEST(object_offsets)
{
	CHECK(binder_object_readable(0, 0, 24) == 24);
	CHECK(binder_object_readable(4, 0, 24) == 20);
	CHECK(binder_object_readable(0, 0, 1000) == sizeof(union binder_object));
	CHECK(binder_object_readable(20, 0, 24) == 4);
	CHECK(binder_object_readable(2, 0, 100) == 0);	/* not a multiple of 4 */
	CHECK(binder_object_readable(24, 0, 24) == 0);	/* nothing there */
	CHECK(binder_object_readable(24, 0, 27) == 0);	/* less than a header */
	CHECK(binder_object_readable(20, 24, 100) == 0); /* inside the one before */
	CHECK(binder_object_readable(24, 24, 100) != 0);
	CHECK(binder_object_readable((u64)-4, 0, 100) == 0);
	CHECK(binder_object_readable((u64)-4, 0, (u64)-1) == 0);
}

TEST(object_must_be_whole)
{
	union binder_object object = { .hdr.type = BINDER_TYPE_PTR };

	CHECK(binder_object_check(&object, 40) == 40);
	CHECK(binder_object_check(&object, 39) == 0);
	CHECK(binder_object_check(&object, 3) == 0);
	object.hdr.type = BINDER_TYPE_FD;
	CHECK(binder_object_check(&object, 40) == 24);
	object.hdr.type = 0x12345678;
	CHECK(binder_object_check(&object, 40) == 0);
}

/* ---- offset_allocator.c: full and empty spaces (fuzz/range.c has random steps) --------------- */

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
 * Two gaps of 8 are left, and which is taken depends on the shape of the tree of gaps; in the C
 * driver the one behind r[3], since its node went to the right of the gap that it was cut from.
 */
TEST(range_equal_gaps_are_taken_as_by_the_c_driver)
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

/* ---- priority_flags.c: the scale of priorities (inherit_test.c has the rest) ----------------- */

#define NICE(n) ((struct host_priority){ .policy = 0, .prio = (n) })
#define FIFO(n) ((struct host_priority){ .policy = 1, .prio = (n) })

TEST(priority_of_invalid_flags)
{
	const u32 fifo = 1 << FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT;
	const u32 none[] = { 20, 127, 128, 235, fifo, fifo | 100, fifo | 255 };
	u32 i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(binder_priority_above(NICE(19), binder_priority_of_flags(none[i])));
	CHECK(!binder_priority_above(NICE(19), binder_priority_of_flags(19)));
	CHECK(binder_priority_above(binder_priority_of_flags(236), NICE(-19)));
	CHECK(binder_priority_above(binder_priority_of_flags(fifo | 99), FIFO(98)));
}

/* ---- sg_plan.c: offsets of extra buffers, and the patches that are allowed ------------------- */

#define SPACE 0x1000 /* offset of the extra section */
#define ROOT  ((u64)-1)

/* Adds a buffer of @length bytes as object @index; @parent: the index of its parent, or ROOT. */
static int add_buffer(struct sg_plan *plan, u64 index, u64 length, u64 parent, u64 parent_offset,
	       u64 *patch)
{
	struct binder_buffer_object object = {
		.hdr.type = BINDER_TYPE_PTR,
		.flags = parent == ROOT ? 0 : BINDER_BUFFER_FLAG_HAS_PARENT,
		.buffer = 0x100000 * (index + 1),
		.length = length,
		.parent = parent,
		.parent_offset = parent_offset,
	};
	u64 off, unused;

	return sg_add_buffer(plan, index, &object, &off, patch ? patch : &unused);
}

static int add_fds(struct sg_plan *plan, u64 parent, u64 parent_offset, u64 num_fds)
{
	struct binder_fd_array_object object = {
		.hdr.type = BINDER_TYPE_FDA,
		.num_fds = num_fds,
		.parent = parent,
		.parent_offset = parent_offset,
	};
	u64 off, source;

	return sg_add_fds(plan, &object, &off, &source);
}

TEST(sg_buffers_are_aligned_to_8)
{
	struct binder_buffer_object object = { .length = 5 };
	struct sg_plan plan;
	u64 off, patch;

	sg_init(&plan, SPACE, 32);
	CHECK(!sg_add_buffer(&plan, 0, &object, &off, &patch) && off == SPACE);
	CHECK(patch == SG_NO_PATCH);
	object.length = 25;
	CHECK(sg_add_buffer(&plan, 1, &object, &off, &patch) == -EINVAL);
	object.length = 24;
	CHECK(!sg_add_buffer(&plan, 1, &object, &off, &patch) && off == SPACE + 8);
	object.length = 1;
	CHECK(sg_add_buffer(&plan, 2, &object, &off, &patch) == -EINVAL);
	object.length = 0;
	CHECK(!sg_add_buffer(&plan, 2, &object, &off, &patch) && off == SPACE + 32);
	object.length = (u64)-1;
	CHECK(sg_add_buffer(&plan, 3, &object, &off, &patch) == -EINVAL);
}

/* A; B in A at 0; C in A at 16; D in C at 0; E in A at 32. */
TEST(sg_patches_go_up_the_chain)
{
	struct sg_plan plan;
	u64 patch;

	sg_init(&plan, SPACE, 4096);
	CHECK(!add_buffer(&plan, 0, 64, ROOT, 0, NULL));
	CHECK(!add_buffer(&plan, 1, 64, 0, 0, &patch) && patch == SPACE);
	CHECK(!add_buffer(&plan, 2, 64, 0, 16, &patch) && patch == SPACE + 16);
	CHECK(!add_buffer(&plan, 3, 64, 2, 0, &patch) && patch == SPACE + 128);
	CHECK(!add_buffer(&plan, 4, 64, 0, 32, &patch) && patch == SPACE + 32);
	CHECK(plan.depth == 2);
}

TEST(sg_patches_in_one_buffer_increase)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	add_buffer(&plan, 0, 64, ROOT, 0, NULL);
	CHECK(!add_buffer(&plan, 1, 8, 0, 16, NULL));
	CHECK(add_buffer(&plan, 2, 8, 0, 16, NULL) == -EINVAL);
	CHECK(add_buffer(&plan, 2, 8, 0, 23, NULL) == -EINVAL);
	CHECK(add_buffer(&plan, 2, 8, 0, 0, NULL) == -EINVAL);
	CHECK(!add_buffer(&plan, 2, 8, 0, 24, NULL));
}

TEST(sg_closed_buffers_take_no_patch)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	add_buffer(&plan, 0, 64, ROOT, 0, NULL);
	add_buffer(&plan, 1, 64, 0, 0, NULL);
	add_buffer(&plan, 2, 64, 0, 8, NULL); /* closes 1 */
	CHECK(add_buffer(&plan, 3, 8, 1, 0, NULL) == -EINVAL);
	CHECK(!add_buffer(&plan, 3, 8, ROOT, 0, NULL)); /* closes everything */
	CHECK(add_buffer(&plan, 4, 8, 0, 32, NULL) == -EINVAL);
	CHECK(add_buffer(&plan, 4, 8, 2, 32, NULL) == -EINVAL);
	CHECK(!add_buffer(&plan, 4, 8, 3, 0, NULL));
}

TEST(sg_parent_must_exist_and_have_room)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	CHECK(add_buffer(&plan, 0, 8, 0, 0, NULL) == -EINVAL); /* itself */
	add_buffer(&plan, 0, 12, ROOT, 0, NULL);
	CHECK(add_buffer(&plan, 1, 8, 5, 0, NULL) == -EINVAL); /* a later object, or none */
	CHECK(add_buffer(&plan, 1, 8, 0, 5, NULL) == -EINVAL);
	CHECK(add_buffer(&plan, 1, 8, 0, (u64)-8, NULL) == -EINVAL);
	CHECK(!add_buffer(&plan, 1, 4, 0, 4, NULL));
	CHECK(add_buffer(&plan, 2, 8, 1, 0, NULL) == -EINVAL); /* shorter than a pointer */
}

TEST(sg_fd_arrays)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	CHECK(add_fds(&plan, 0, 0, 1) == -EINVAL);
	add_buffer(&plan, 0, 64, ROOT, 0, NULL);
	CHECK(add_fds(&plan, 0, 2, 1) == -EINVAL);
	CHECK(add_fds(&plan, 0, 0, 17) == -EINVAL);
	CHECK(add_fds(&plan, 0, 64, 1) == -EINVAL);
	CHECK(add_fds(&plan, 0, 0, (u64)1 << 62) == -EINVAL);
	CHECK(add_fds(&plan, 0, 0, (u64)-1) == -EINVAL);
	CHECK(!add_fds(&plan, 0, 8, 2));
	CHECK(add_fds(&plan, 0, 12, 1) == -EINVAL); /* overlaps */
	CHECK(!add_buffer(&plan, 1, 8, 0, 16, NULL));
	CHECK(!add_fds(&plan, 0, 24, 10));
	CHECK(add_fds(&plan, 1, 0, 1) == -EINVAL); /* closed by the array above it */
	CHECK(!add_fds(&plan, 0, (u64)-8, 0));
	CHECK(add_buffer(&plan, 2, 8, 0, 56, NULL) == -EINVAL);
}

TEST(sg_chain_grows)
{
	struct sg_plan plan;
	u64 i;

	sg_init(&plan, SPACE, 4096);
	for (i = 0; i < 100; i++) {
		if (sg_full(&plan)) {
			u32 max = sg_next_max(&plan);

			free(sg_grow(&plan, calloc(max, sizeof(struct sg_buffer)), max));
		}
		REQUIRE(!add_buffer(&plan, i, 16, i ? i - 1 : ROOT, 0, NULL));
	}
	CHECK(plan.depth == 100);
	CHECK(!add_buffer(&plan, 100, 8, 0, 8, NULL));
	CHECK(plan.depth == 2);
	free(sg_memory(&plan));
}
