// SPDX-License-Identifier: GPL-2.0
/* BC_FREE_BUFFER. */
#include "pair.h"
#include "check.h"

TEST(buffer_foreign_and_double_free_change_nothing)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	pair_call(&p, 0, 1, 0, "x");
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	pair_reply(&p, "y");
	world_free_buffer(p.c, &tr); /* a buffer of the server */
	CHECK(world_write_read(p.c, false) == 0);
	world_free_buffer(p.s, &tr);
	world_free_buffer(p.s, &tr);
	CHECK(world_write_read(p.s, false) == 0);
	CHECK(pair_end(&p));
}
