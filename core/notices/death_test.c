// SPDX-License-Identifier: GPL-2.0
/* What the death of a process or thread means for others: notifications, failed calls. */
#include "pair.h"
#include "check.h"

#define COOKIE 0x5151

/* The client acquires handle 0 and requests a death notification. */
static void request(struct pair *p)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = COOKIE };

	world_command(p->c, BC_ENTER_LOOPER, NULL);
	world_command(p->c, BC_ACQUIRE, &arg.handle);
	world_command(p->c, BC_REQUEST_DEATH_NOTIFICATION, &arg);
	CHECK(world_write_read(p->c, false) == 0);
}

TEST(death_is_notified)
{
	struct pair p;
	u64 cookie;

	pair_begin(&p);
	request(&p);
	CHECK(world_write_read(p.c, true) == BINDER_WOULD_BLOCK);
	world_kill(p.server);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_DEAD_BINDER, &cookie) && cookie == COOKIE);
	world_command(p.c, BC_DEAD_BINDER_DONE, &cookie);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(pair_end(&p));
}

TEST(death_before_the_request)
{
	struct pair p;
	u64 cookie;

	pair_begin(&p);
	world_command(p.c, BC_ACQUIRE, &(u32){ 0 });
	world_write_read(p.c, false);
	world_kill(p.server);
	world_command(p.c, BC_REQUEST_DEATH_NOTIFICATION,
		      &(struct binder_handle_cookie){ .handle = 0, .cookie = COOKIE });
	CHECK(world_write_read(p.c, false) == 0);
	world_command(p.c, BC_ENTER_LOOPER, NULL);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_DEAD_BINDER, &cookie) && cookie == COOKIE);
	CHECK(pair_end(&p)); /* without BC_DEAD_BINDER_DONE */
}

TEST(death_request_is_cleared)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = COOKIE };
	struct pair p;
	u64 cookie;

	pair_begin(&p);
	request(&p);
	world_command(p.c, BC_CLEAR_DEATH_NOTIFICATION, &arg);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_CLEAR_DEATH_NOTIFICATION_DONE, &cookie) && cookie == COOKIE);
	world_kill(p.server);
	CHECK(world_poll_read(p.c) == -EAGAIN);
	CHECK(pair_end(&p));
}

TEST(death_cleared_before_it_is_acknowledged)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = COOKIE };
	struct pair p;
	u64 cookie;

	pair_begin(&p);
	request(&p);
	world_kill(p.server);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_DEAD_BINDER, &cookie));
	world_command(p.c, BC_CLEAR_DEATH_NOTIFICATION, &arg);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(world_poll_read(p.c) == -EAGAIN);
	world_command(p.c, BC_DEAD_BINDER_DONE, &cookie);
	CHECK(world_write_read(p.c, true) == 0);
	cookie = 0;
	CHECK(pair_expect(p.c, BR_CLEAR_DEATH_NOTIFICATION_DONE, &cookie) && cookie == COOKIE);
	CHECK(pair_end(&p));
}

/* Notices that are requested and cleared, but never read, do not accumulate without limit. */
TEST(death_requests_are_limited)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = COOKIE };
	struct pair p;
	u32 nr;

	pair_begin(&p);
	request(&p);
	for (nr = 0; nr < BINDER_MAX_NOTICES + 10; nr++) {
		world_command(p.c, BC_CLEAR_DEATH_NOTIFICATION, &arg);
		world_command(p.c, BC_REQUEST_DEATH_NOTIFICATION, &arg);
		REQUIRE(world_write_read(p.c, false) == 0);
		if (p.c->arg.bwr.write_consumed < p.c->arg.bwr.write_size)
			break; /* at the limit: an error is queued */
	}
	CHECK(sim_stats.allocs < BINDER_MAX_NOTICES + 100);
	while (world_write_read(p.c, true) == 0) {
		u32 br = world_next(p.c, NULL);

		if (br == BR_ERROR)
			break;
		if (!CHECK(br == BR_CLEAR_DEATH_NOTIFICATION_DONE))
			break;
		while (world_next(p.c, NULL) == BR_CLEAR_DEATH_NOTIFICATION_DONE)
			;
	}
	CHECK(pair_end(&p));
}

TEST(death_fails_the_pending_call)
{
	struct pair p;

	pair_begin(&p);
	pair_call(&p, 0, 1, 0, "x");
	world_run(&p.w);
	world_kill(p.server);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_DEAD_REPLY, NULL));
	CHECK(!p.c->parked);
	CHECK(pair_end(&p));
}

TEST(death_fails_the_undelivered_call)
{
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	pair_call(&p, 0, 1, 0, "x");
	world_kill(p.server);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_DEAD_REPLY, NULL));
	CHECK(pair_end(&p));
}

TEST(death_of_the_caller_drops_the_reply)
{
	struct pair p;

	pair_begin(&p);
	pair_call(&p, 0, 1, 0, "x");
	world_run(&p.w);
	world_kill(p.client);
	pair_reply(&p, "too late");
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL)); /* no error for the server */
	CHECK(pair_end(&p));
}
