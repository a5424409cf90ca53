// SPDX-License-Identifier: GPL-2.0
/* A call and its reply through the whole engine; the conformance suite has the other rules. */
#include "pair.h"
#include "check.h"

TEST(call_and_reply)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	CHECK(p.s->parked);
	CHECK(pair_call(&p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	CHECK(tr.code == 7 && tr.sender_pid == p.client->sim->pid && tr.sender_euid == 1000);
	CHECK(tr.target.ptr == 0 && tr.cookie == 0 && tr.offsets_size == 0);
	CHECK(pair_has_data(p.s, &tr, "ping"));
	CHECK(p.c->parked);
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "pong");
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_REPLY, &tr));
	CHECK(pair_has_data(p.c, &tr, "pong"));
	CHECK(tr.sender_pid == 0);
	world_free_buffer(p.c, &tr);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(!world_next(p.c, NULL) && !world_next(p.s, NULL));
	CHECK(pair_end(&p));
}
