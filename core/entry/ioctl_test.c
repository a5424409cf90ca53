// SPDX-License-Identifier: GPL-2.0
/* The ioctls. */
#include "pair.h"
#include "check.h"

TEST(ioctl_version)
{
	struct binder_version version = { 0 };
	struct pair p;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_VERSION, &version) == 0 && version.protocol_version == 8);
	CHECK(pair_end(&p));
}

TEST(ioctl_unknown_numbers_and_sizes)
{
	const u32 cmds[] = { ABI_IO('b', 2), ABI_IO('b', 200), ABI_IOW('b', 5, u64),
			     ABI_IOW('c', 5, u32), ABI_IO('b', 9) };
	u8 arg[64] = { 0 };
	struct pair p;
	u32 i;

	pair_begin(&p);
	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++)
		CHECK(world_ioctl(p.c, cmds[i], arg) == -EINVAL);
	CHECK(pair_end(&p));
}

TEST(ioctl_extended_error_is_reset_by_reading)
{
	struct binder_extended_error ee = { 0 };
	struct pair p;

	pair_begin(&p);
	pair_call(&p, 55, 1, 0, "");
	CHECK(world_ioctl(p.c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_FAILED_REPLY && ee.param == -EINVAL && ee.id);
	CHECK(world_ioctl(p.c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_OK && !ee.param);
	CHECK(pair_end(&p));
}
