// SPDX-License-Identifier: GPL-2.0
/* The scatter-gather plan: offsets of extra buffers, and the patches that it allows. */
#include "pure/sg_plan.h"
#include "host.h"
#include "check.h"

#include <stdlib.h>

#define SPACE 0x1000 /* offset of the extra section */
#define ROOT  ((u64)-1)

/* Adds a buffer of @length bytes as object @index; @parent: the index of its parent, or ROOT. */
static int add(struct sg_plan *plan, u64 index, u64 length, u64 parent, u64 parent_offset,
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
	CHECK(!add(&plan, 0, 64, ROOT, 0, NULL));
	CHECK(!add(&plan, 1, 64, 0, 0, &patch) && patch == SPACE);
	CHECK(!add(&plan, 2, 64, 0, 16, &patch) && patch == SPACE + 16);
	CHECK(!add(&plan, 3, 64, 2, 0, &patch) && patch == SPACE + 128);
	CHECK(!add(&plan, 4, 64, 0, 32, &patch) && patch == SPACE + 32);
	CHECK(plan.depth == 2);
}

TEST(sg_patches_in_one_buffer_increase)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	add(&plan, 0, 64, ROOT, 0, NULL);
	CHECK(!add(&plan, 1, 8, 0, 16, NULL));
	CHECK(add(&plan, 2, 8, 0, 16, NULL) == -EINVAL);
	CHECK(add(&plan, 2, 8, 0, 23, NULL) == -EINVAL);
	CHECK(add(&plan, 2, 8, 0, 0, NULL) == -EINVAL);
	CHECK(!add(&plan, 2, 8, 0, 24, NULL));
}

TEST(sg_closed_buffers_take_no_patch)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	add(&plan, 0, 64, ROOT, 0, NULL);
	add(&plan, 1, 64, 0, 0, NULL);
	add(&plan, 2, 64, 0, 8, NULL); /* closes 1 */
	CHECK(add(&plan, 3, 8, 1, 0, NULL) == -EINVAL);
	CHECK(!add(&plan, 3, 8, ROOT, 0, NULL)); /* closes everything */
	CHECK(add(&plan, 4, 8, 0, 32, NULL) == -EINVAL);
	CHECK(add(&plan, 4, 8, 2, 32, NULL) == -EINVAL);
	CHECK(!add(&plan, 4, 8, 3, 0, NULL));
}

TEST(sg_parent_must_exist_and_have_room)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	CHECK(add(&plan, 0, 8, 0, 0, NULL) == -EINVAL); /* itself */
	add(&plan, 0, 12, ROOT, 0, NULL);
	CHECK(add(&plan, 1, 8, 5, 0, NULL) == -EINVAL); /* a later object, or none */
	CHECK(add(&plan, 1, 8, 0, 5, NULL) == -EINVAL);
	CHECK(add(&plan, 1, 8, 0, (u64)-8, NULL) == -EINVAL);
	CHECK(!add(&plan, 1, 4, 0, 4, NULL));
	CHECK(add(&plan, 2, 8, 1, 0, NULL) == -EINVAL); /* shorter than a pointer */
}

TEST(sg_fd_arrays)
{
	struct sg_plan plan;

	sg_init(&plan, SPACE, 4096);
	CHECK(add_fds(&plan, 0, 0, 1) == -EINVAL);
	add(&plan, 0, 64, ROOT, 0, NULL);
	CHECK(add_fds(&plan, 0, 2, 1) == -EINVAL);
	CHECK(add_fds(&plan, 0, 0, 17) == -EINVAL);
	CHECK(add_fds(&plan, 0, 64, 1) == -EINVAL);
	CHECK(add_fds(&plan, 0, 0, (u64)1 << 62) == -EINVAL);
	CHECK(add_fds(&plan, 0, 0, (u64)-1) == -EINVAL);
	CHECK(!add_fds(&plan, 0, 8, 2));
	CHECK(add_fds(&plan, 0, 12, 1) == -EINVAL); /* overlaps */
	CHECK(!add(&plan, 1, 8, 0, 16, NULL));
	CHECK(!add_fds(&plan, 0, 24, 10));
	CHECK(add_fds(&plan, 1, 0, 1) == -EINVAL); /* closed by the array above it */
	CHECK(!add_fds(&plan, 0, (u64)-8, 0));
	CHECK(add(&plan, 2, 8, 0, 56, NULL) == -EINVAL);
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
		REQUIRE(!add(&plan, i, 16, i ? i - 1 : ROOT, 0, NULL));
	}
	CHECK(plan.depth == 100);
	CHECK(!add(&plan, 100, 8, 0, 8, NULL));
	CHECK(plan.depth == 2);
	free(sg_memory(&plan));
}
