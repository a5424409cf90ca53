// SPDX-License-Identifier: GPL-2.0
/* One-way calls: their order, and the buffer space that they may use. */
#include "pair.h"
#include "check.h"

TEST(oneway_one_at_a_time)
{
	struct binder_transaction_data tr;
	struct pair p;
	u32 i;

	pair_begin(&p);
	for (i = 1; i <= 3; i++) {
		CHECK(pair_call(&p, 0, i, TF_ONE_WAY, "x") == 0);
		CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	}
	for (i = 1; i <= 3; i++) {
		world_run(&p.w);
		REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
		CHECK(tr.code == i && tr.flags & TF_ONE_WAY && tr.sender_pid == 0);
		/* The next one is delivered when the buffer of this one is freed. */
		CHECK(world_write_read(p.s, true) == BINDER_WOULD_BLOCK);
		world_resume(p.s, RESUME_INTERRUPTED);
		world_free_buffer(p.s, &tr);
		world_write_read(p.s, true);
	}
	CHECK(p.s->parked);
	CHECK(pair_end(&p));
}

TEST(oneway_to_a_dead_process_is_dropped)
{
	struct pair p;

	pair_begin(&p);
	CHECK(pair_call(&p, 0, 1, TF_ONE_WAY, "x") == 0);
	CHECK(pair_call(&p, 0, 2, TF_ONE_WAY, "y") == 0);
	world_kill(p.server);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(world_poll_read(p.c) == -EAGAIN);
	CHECK(pair_end(&p));
}

TEST(oneway_space_is_used_up_and_freed)
{
	static const char big[WORLD_MAP_SIZE / 8] = { 0 };
	struct world_call call = { .flags = TF_ONE_WAY, .data = big, .size = sizeof(big) };
	struct binder_transaction_data tr;
	struct pair p;
	u32 sent = 0;

	pair_begin(&p);
	for (;;) {
		world_call(p.c, &call);
		CHECK(world_write_read(p.c, true) == 0);
		if (!pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL))
			break;
		sent++;
	}
	CHECK(sent == 4); /* half of the space */
	call.flags = 0;   /* a call can use the other half */
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	CHECK(tr.flags & TF_ONE_WAY);
	world_free_buffer(p.s, &tr);
	CHECK(world_write_read(p.s, false) == 0);
	world_kill(p.client);
	CHECK(pair_end(&p));
}
