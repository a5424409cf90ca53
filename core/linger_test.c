// SPDX-License-Identifier: GPL-2.0
/* Which answers linger, and what ends that. (Time is the number of host calls: all is soon.) */
#include "pair.h"
#include "unit/test.h"

static void begin(struct pair *p)
{
	sim_answers_linger = true;
	pair_begin(p);
}

static bool end(struct pair *p)
{
	bool good = pair_end(p);

	sim_answers_linger = false;
	return good;
}

/* The server, which has been called, answers and reads; the client gets it.  True: it lingers. */
static bool answer(struct pair *p)
{
	const struct world_call reply = { .data = "y", .size = 2 };
	struct binder_transaction_data tr;
	bool lingers;

	CHECK(pair_expect(p->s, BR_TRANSACTION, &tr));
	world_free_buffer(p->s, &tr);
	world_reply(p->s, &reply);
	lingers = world_write_read(p->s, true) == BINDER_WOULD_BLOCK;
	world_settle(&p->w);
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_REPLY, &tr) && pair_has_data(p->c, &tr, "y"));
	world_free_buffer(p->c, &tr);
	if (!lingers) {
		CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));
		CHECK(!world_next(p->s, NULL));
	}
	return lingers;
}

/* A call and its answer.  @lingers: what the answer before came to, and what this one does. */
static void turn(struct pair *p, bool *lingers)
{
	if (!*lingers)
		CHECK(world_write_read(p->s, true) == BINDER_WOULD_BLOCK);
	CHECK(pair_call(p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_settle(&p->w);
	if (*lingers)
		CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));
	*lingers = answer(p);
}

/* Turns until an answer lingers; how many. */
static u32 turns_until_it_lingers(struct pair *p)
{
	bool lingers = false;
	u32 nr = 0;

	while (!lingers && nr < 100) {
		turn(p, &lingers);
		nr++;
	}
	return nr;
}

TEST(linger_for_the_next_call)
{
	bool lingers = true;
	u32 lingered = 0, i;
	struct pair p;

	begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(turns_until_it_lingers(&p) == 9);
	for (i = 0; i < 200; i++) {
		turn(&p, &lingers);
		lingered += lingers;
	}
	/* Now and then it has to show that it comes back by itself. */
	CHECK(lingered > 190 && lingered < 200);
	if (lingers)
		world_resume(p.s, RESUME_TIMED_OUT);
	CHECK(end(&p));
}

TEST(linger_ends_without_a_call)
{
	struct pair p;

	begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(turns_until_it_lingers(&p) == 9);
	CHECK(p.s->parked && p.s->parked->linger.on);
	world_resume(p.s, RESUME_TIMED_OUT);
	CHECK(p.s->result == 0 && pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(!world_next(p.s, NULL));
	/* It has to be earned again. */
	CHECK(turns_until_it_lingers(&p) == 9);
	/* A signal finds what a read would find. */
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(p.s->result == 0 && pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(end(&p));
}

TEST(linger_is_for_loops_that_wait)
{
	struct binder_transaction_data tr;
	struct binder_thread *server;
	bool lingers = false;
	struct pair p;
	u32 i;

	begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(turns_until_it_lingers(&p) == 9);
	server = p.s->parked;
	/* A one-way call ends it as well, and is no call that it would be waited for. */
	CHECK(pair_call(&p, 0, 2, TF_ONE_WAY, "z") == 0);
	world_settle(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.s, BR_TRANSACTION, &tr) && tr.code == 2);
	world_free_buffer(p.s, &tr);
	/* Who polls is told at once, however quick. */
	binder_poll(server);
	for (i = 0; i < 20; i++) {
		turn(&p, &lingers);
		CHECK(!lingers);
	}
	CHECK(end(&p));
}
