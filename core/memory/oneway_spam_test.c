// SPDX-License-Identifier: GPL-2.0
/* One-way spam, as its sender is notified of it; alloc_test.c tests when a sender is a suspect. */
#include "pair.h"
#include "check.h"

TEST(oneway_spam_suspect_if_enabled)
{
	static const char big[WORLD_MAP_SIZE * 15 / 32] = { 0 };
	struct world_call call = { .flags = TF_ONE_WAY, .data = big, .size = sizeof(big) };
	u32 on = 1;
	struct pair p;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on) == 0);
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL)); /* the first buffer of the client */
	call.size = 1;
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_ONEWAY_SPAM_SUSPECT, NULL));
	CHECK(pair_end(&p));
}
