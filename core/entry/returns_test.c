// SPDX-License-Identifier: GPL-2.0
/* Returns that cannot be written. */
#include "pair.h"
#include "check.h"

TEST(returns_into_bad_memory_lose_no_call)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 0x10 };
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	pair_call(&p, 0, 1, 0, "x");
	CHECK(world_ioctl(p.s, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(p.c->parked);
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	CHECK(pair_end(&p));
}
