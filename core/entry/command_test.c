// SPDX-License-Identifier: GPL-2.0
/* Invalid commands. */
#include "pair.h"
#include "check.h"

static int write_raw(struct pair *p, const void *bytes, size_t size, u64 *consumed)
{
	struct binder_write_read bwr = {
		.write_size = size,
		.write_buffer = world_memory(p->client, bytes, size),
	};
	int err = world_ioctl(p->c, BINDER_WRITE_READ, &bwr);

	*consumed = bwr.write_consumed;
	return err;
}

TEST(command_errors)
{
	const u32 unknown[] = { BC_ENTER_LOOPER, ABI_IO('c', 99) };
	const u32 wrong_size[] = { ABI_IOW('c', 4, u64), 0, 0 };
	const u32 unsupported[] = { BC_ACQUIRE_RESULT, 0 };
	const u32 attempt[] = { BC_ATTEMPT_ACQUIRE, 0, 0, 0 };
	struct binder_write_read bwr = { .write_size = 4, .write_buffer = 0x10 };
	struct pair p;
	u64 consumed;

	pair_begin(&p);
	CHECK(write_raw(&p, unknown, sizeof(unknown), &consumed) == -EINVAL && consumed == 4);
	CHECK(write_raw(&p, wrong_size, sizeof(wrong_size), &consumed) == -EINVAL);
	CHECK(write_raw(&p, unsupported, sizeof(unsupported), &consumed) == -EINVAL);
	CHECK(write_raw(&p, attempt, sizeof(attempt), &consumed) == -EINVAL && consumed == 0);
	CHECK(world_ioctl(p.c, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(pair_end(&p));
}
