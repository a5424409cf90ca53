// SPDX-License-Identifier: GPL-2.0
/* The edges of checked arithmetic, and every small range against the plain definition. */
#include "check.h"
#include "checked.h"

static bool test_edges(void)
{
	u64 wide;
	u32 narrow;
	s64 swide;
	s32 snarrow;
	size_t size;

	CHECK(ck_add_u64(~0ull, 0, &wide) && wide == ~0ull);
	CHECK(!ck_add_u64(~0ull, 1, &wide));
	CHECK(!ck_sub_u64(0, 1, &wide));
	CHECK(ck_mul_u64(1ull << 32, (1ull << 32) - 1, &wide) && wide == ~0ull - 0xffffffffull);
	CHECK(!ck_mul_u64(1ull << 32, 1ull << 32, &wide));
	CHECK(ck_add_u32(0xfffffffeu, 1, &narrow) && narrow == 0xffffffffu);
	CHECK(!ck_add_u32(0xffffffffu, 1, &narrow));
	CHECK(!ck_mul_u32(0x10000, 0x10000, &narrow));
	CHECK(ck_sub_s64(-INT64_MAX, 1, &swide) && swide == INT64_MIN);
	CHECK(!ck_sub_s64(INT64_MIN, 1, &swide));
	CHECK(!ck_add_s32(INT32_MAX, 1, &snarrow));
	CHECK(ck_mul_s32(-1, INT32_MAX, &snarrow) && snarrow == -INT32_MAX);
	CHECK(!ck_mul_s32(-1, INT32_MIN, &snarrow));
	CHECK(ck_add_size_t(1, 2, &size) && size == 3);
	CHECK(!ck_add_size_t(SIZE_MAX, 1, &size));
	return true;
}

static bool test_align(void)
{
	u64 out;

	CHECK(ck_align_u64(0, 8, &out) && out == 0);
	CHECK(ck_align_u64(1, 8, &out) && out == 8);
	CHECK(ck_align_u64(8, 8, &out) && out == 8);
	CHECK(ck_align_u64(~0ull - 7, 8, &out) && out == ~0ull - 7);
	CHECK(!ck_align_u64(~0ull - 6, 8, &out));
	return true;
}

static bool test_within(void)
{
	for (u64 offset = 0; offset < 8; offset++) {
		for (u64 size = 0; size < 8; size++) {
			for (u64 limit = 0; limit < 8; limit++)
				CHECK(ck_within(offset, size, limit) == (offset + size <= limit));
		}
	}
	CHECK(!ck_within(~0ull, 2, 100));
	CHECK(!ck_within(2, ~0ull, 100));
	CHECK(ck_within(~0ull, 0, ~0ull));
	return true;
}

const struct base_test checked_tests[] = {
	{ "checked: edges", test_edges },
	{ "checked: align", test_align },
	{ "checked: within", test_within },
	{ NULL, NULL },
};
