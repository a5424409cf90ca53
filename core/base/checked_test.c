// SPDX-License-Identifier: GPL-2.0
/* Checked arithmetic at the limits of each type; ck_within() for every small range. */
#include "base/checked.h"
#include "check.h"

TEST(checked_limits)
{
	u64 wide;
	u32 narrow;
	s64 swide;
	s32 snarrow;
	size_t size;

	REQUIRE(ck_add_u64(~0ull, 0, &wide) && wide == ~0ull);
	REQUIRE(!ck_add_u64(~0ull, 1, &wide));
	REQUIRE(!ck_sub_u64(0, 1, &wide));
	REQUIRE(ck_mul_u64(1ull << 32, (1ull << 32) - 1, &wide) && wide == ~0ull - 0xffffffffull);
	REQUIRE(!ck_mul_u64(1ull << 32, 1ull << 32, &wide));
	REQUIRE(ck_add_u32(0xfffffffeu, 1, &narrow) && narrow == 0xffffffffu);
	REQUIRE(!ck_add_u32(0xffffffffu, 1, &narrow));
	REQUIRE(!ck_mul_u32(0x10000, 0x10000, &narrow));
	REQUIRE(ck_sub_s64(-INT64_MAX, 1, &swide) && swide == INT64_MIN);
	REQUIRE(!ck_sub_s64(INT64_MIN, 1, &swide));
	REQUIRE(!ck_add_s32(INT32_MAX, 1, &snarrow));
	REQUIRE(ck_mul_s32(-1, INT32_MAX, &snarrow) && snarrow == -INT32_MAX);
	REQUIRE(!ck_mul_s32(-1, INT32_MIN, &snarrow));
	REQUIRE(ck_add_size_t(1, 2, &size) && size == 3);
	REQUIRE(!ck_add_size_t(SIZE_MAX, 1, &size));
}

TEST(checked_within)
{
	for (u64 offset = 0; offset < 8; offset++) {
		for (u64 size = 0; size < 8; size++) {
			for (u64 limit = 0; limit < 8; limit++)
				REQUIRE(ck_within(offset, size, limit) == (offset + size <= limit));
		}
	}
	REQUIRE(!ck_within(~0ull, 2, 100));
	REQUIRE(!ck_within(2, ~0ull, 100));
	REQUIRE(ck_within(~0ull, 0, ~0ull));
}
