// SPDX-License-Identifier: GPL-2.0
/* A round trip leaves the records of its stages in order, each by the right thread. */
#include "pair.h"
#include "check.h"

static bool is(u32 at, enum host_stage stage, const struct world_thread *t, u32 id, u32 answers)
{
	const struct sim_stage *s = &sim_stages[at];

	return s->stage == (u32)stage && s->tid == t->tid && s->pid == t->proc->sim->pid &&
	       s->id == id && s->answers == answers;
}

TEST(stage_records_of_a_round_trip)
{
	struct binder_transaction_data tr;
	struct pair p;
	u32 call, reply;

	pair_begin(&p);
	sim_nr_stages = 0;
	sim_stages_wanted = true;
	CHECK(pair_call(&p, 0, 7, 0, "question") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "answer");
	sim_stages_wanted = false;
	REQUIRE(sim_nr_stages == 10);
	call = sim_stages[1].id;
	reply = sim_stages[6].id;
	CHECK(call && reply && call != reply);
	CHECK(is(0, HOST_STAGE_IOC, p.c, 0, 0));
	CHECK(is(1, HOST_STAGE_WR_IN, p.c, call, 0));
	CHECK(is(2, HOST_STAGE_ENQ, p.c, call, 0));
	CHECK(is(3, HOST_STAGE_DEQ, p.s, call, 0));
	CHECK(is(4, HOST_STAGE_COPY, p.s, call, 0));
	CHECK(is(5, HOST_STAGE_IOC, p.s, 0, 0));
	CHECK(is(6, HOST_STAGE_WR_IN, p.s, reply, 0));
	CHECK(is(7, HOST_STAGE_ENQ, p.s, reply, call));
	CHECK(is(8, HOST_STAGE_DEQ, p.c, reply, 0));
	CHECK(is(9, HOST_STAGE_COPY, p.c, reply, 0));
	CHECK(pair_end(&p));
}

/* A call that fails before it is queued leaves no record of being queued. */
TEST(stage_records_of_a_call_that_fails)
{
	struct pair p;

	pair_begin(&p);
	sim_nr_stages = 0;
	sim_stages_wanted = true;
	pair_call(&p, 77, 7, 0, "no such handle");
	sim_stages_wanted = false;
	CHECK(sim_nr_stages == 2 && sim_stages[1].stage == HOST_STAGE_WR_IN);
	CHECK(pair_end(&p));
}
