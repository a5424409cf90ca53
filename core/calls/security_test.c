// SPDX-License-Identifier: GPL-2.0
/* Security contexts of senders, and transactions that the security policy refuses. */
#include "pair.h"
#include "check.h"

#define CONTEXT "u:r:client:s0"

TEST(security_context_of_the_sender)
{
	struct binder_transaction_data_secctx tr;
	char got[sizeof(CONTEXT)];
	struct pair p;

	pair_make(&p);
	p.client->sim->secctx = CONTEXT;
	pair_start(&p, FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	CHECK(pair_call(&p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
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
