// SPDX-License-Identifier: GPL-2.0
/* The state of the engine is written and restored. Tests all files of this folder. */
#include "pair.h"
#include "check.h"

TEST(state_of_a_call)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	world_hand_over(&p.w);
	CHECK(pair_call(&p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	world_hand_over(&p.w);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_hand_over(&p.w);
	CHECK(pair_has_data(p.s, &tr, "ping"));
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "pong");
	world_hand_over(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_REPLY, &tr));
	CHECK(pair_has_data(p.c, &tr, "pong"));
	CHECK(pair_end(&p));
}
