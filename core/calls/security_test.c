// SPDX-License-Identifier: GPL-2.0
/* Security contexts of senders, and transactions that the security policy refuses. */
#include "pair.h"
#include "check.h"

#define CONTEXT "u:r:client:s0"

TEST(security_context_of_the_sender)
{
	struct flat_binder_object manager = pair_binder(0, 0, FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	struct binder_transaction_data_secctx tr;
	char got[sizeof(CONTEXT)];
	struct pair p;

	pair_begin(&p);
	p.client->sim->secctx = CONTEXT;
	world_kill(p.server);
	p.server = world_proc(&p.w);
	p.s = world_thread(p.server);
	REQUIRE(!world_ioctl(p.s, BINDER_SET_CONTEXT_MGR_EXT, &manager));
	CHECK(pair_call(&p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_command(p.s, BC_ENTER_LOOPER, NULL);
	CHECK(world_write_read(p.s, false) == 0);
	CHECK(world_write_read(p.s, true) == 0);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION_SEC_CTX, &tr));
	CHECK(pair_has_data(p.s, &tr.transaction_data, "x"));
	REQUIRE(!sim_read(p.server->sim, got, tr.secctx, sizeof(got)));
	CHECK(!memcmp(got, CONTEXT, sizeof(got)));
	CHECK(pair_end(&p));
	CHECK(!sim_stats.secctxs);
}

TEST(security_policy_refuses_a_call)
{
	struct pair p;

	pair_begin(&p);
	sim_arm(SIM_MAY_TRANSACT, 1);
	CHECK(pair_call(&p, 0, 1, 0, "x") == 0);
	CHECK(pair_expect(p.c, BR_FAILED_REPLY, NULL));
	sim_arm(SIM_ANY, 0);
	CHECK(pair_call(&p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	CHECK(pair_end(&p));
}
