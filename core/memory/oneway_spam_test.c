// SPDX-License-Identifier: GPL-2.0
/* One-way spam, as its sender is notified; buffer_alloc_test.c tests when a sender is a suspect. */
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

static void send_big(struct pair *p, u32 br)
{
	static const char big[WORLD_MAP_SIZE * 15 / 32] = { 0 };
	struct world_call call = { .flags = TF_ONE_WAY, .data = big, .size = sizeof(big) };

	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(pair_expect(p->c, br, NULL));
}

/* Space that was the same sender's before counts at once. */
TEST(oneway_spam_suspect_in_the_space_of_before)
{
	struct binder_transaction_data tr;
	u32 on = 1;
	struct pair p;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on) == 0);
	/* A buffer that is kept, behind which the gap is. */
	CHECK(pair_call(&p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, NULL));
	pair_reply(&p, "");
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_REPLY, NULL));
	send_big(&p, BR_TRANSACTION_COMPLETE);
	pair_serve(&p);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_free_buffer(p.s, &tr);
	world_write_read(p.s, false);
	send_big(&p, BR_ONEWAY_SPAM_SUSPECT);
	CHECK(pair_end(&p));
}
