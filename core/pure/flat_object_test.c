// SPDX-License-Identifier: GPL-2.0
/* Types of objects, and their offsets. */
#include "pure/flat_object.h"
#include "check.h"

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
