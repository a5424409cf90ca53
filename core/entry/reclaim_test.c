// SPDX-License-Identifier: GPL-2.0
/* Reclaim of available pages. */
#include "pair.h"
#include "check.h"

static bool is_wanted(const struct host_proc *proc, void *sim)
{
	return proc->sim == sim;
}

TEST(reclaim_evicts_available_pages)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	CHECK(!binder_idle_pages());
	CHECK(pair_call(&p, 0, 1, TF_ONE_WAY, "x") == 0);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	CHECK(!binder_shrink(100)); /* the page is under a buffer */
	world_free_buffer(p.s, &tr);
	CHECK(world_write_read(p.s, false) == 0);
	CHECK(binder_idle_pages() == 1);
	CHECK(!binder_shrink(0));
	CHECK(!binder_shrink_some(100, is_wanted, p.client->sim));
	CHECK(binder_shrink_some(100, is_wanted, p.server->sim) == 1);
	CHECK(!binder_idle_pages());
	CHECK(pair_end(&p));
}
