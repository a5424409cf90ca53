// SPDX-License-Identifier: GPL-2.0
/* The route of a call: to the waiting thread of a call chain, or to any thread that reads. */
#include "pair.h"
#include "check.h"

TEST(queue_until_a_thread_reads)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(p.s->result == -EINTR);
	CHECK(pair_call(&p, 0, 1, 0, "early") == BINDER_WOULD_BLOCK);
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &tr) && pair_has_data(p.s, &tr, "early"));
	CHECK(pair_end(&p));
}

TEST(queue_nested_call_to_the_waiting_thread)
{
	struct binder_transaction_data tr;
	struct world_call back = { .code = 5, .data = "back", .size = 5 };
	struct pair p;

	pair_begin(&p);
	back.handle = pair_send_object(&p, 0x111, 0x222);
	REQUIRE(back.handle == 1);
	while (world_next(p.c, NULL) || world_next(p.s, NULL))
		;
	pair_call(&p, 0, 1, 0, "outer");
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_call(p.s, &back);
	CHECK(world_write_read(p.s, true) == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_TRANSACTION, &tr));
	CHECK(tr.target.ptr == 0x111 && tr.cookie == 0x222 && tr.code == 5);
	world_reply(p.c, &(struct world_call){ .data = "in", .size = 3 });
	world_poll_read(p.c);
	world_run(&p.w);
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.s, BR_REPLY, &tr) && pair_has_data(p.s, &tr, "in"));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	pair_reply(&p, "out");
	world_write_read(p.c, true);
	CHECK(pair_expect(p.c, BR_REPLY, &tr) && pair_has_data(p.c, &tr, "out"));
	CHECK(pair_end(&p));
}
