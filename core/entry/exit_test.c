// SPDX-License-Identifier: GPL-2.0
/* The end of threads and processes, with work of each kind unread. */
#include "pair.h"
#include "check.h"

/* Both processes have unread work when they die; pair_end() checks that nothing is left. */
TEST(exit_with_unread_work)
{
	struct binder_handle_cookie notice = { .handle = 0, .cookie = 1 };
	struct world_call call = { .data = "x", .size = 2 };
	struct world_thread *second;
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	second = world_thread(p.client);
	world_write_read(second, false);
	world_command(p.c, BC_ACQUIRE, &notice.handle);
	world_command(p.c, BC_REQUEST_DEATH_NOTIFICATION, &notice);
	world_command(p.c, BC_REQUEST_FREEZE_NOTIFICATION, &notice);
	call.flags = TF_ONE_WAY;
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, false) == 0); /* leaves a completion and a notification */
	call.flags = 0;
	world_call(second, &call);
	CHECK(world_write_read(second, true) == BINDER_WOULD_BLOCK);
	world_kill(p.server); /* with a one-way call and a call */
	world_run(&p.w);
	CHECK(!second->parked);
	CHECK(pair_expect(second, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(second, BR_DEAD_REPLY, NULL));
	world_kill(p.client); /* with the death notification, too */
	CHECK(pair_end(&p));
}

/* A process that has no threads, nodes or references. */
TEST(exit_of_an_unused_process)
{
	struct pair p;

	pair_begin(&p);
	world_kill(world_proc(&p.w));
	CHECK(pair_call(&p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	CHECK(pair_end(&p));
}

TEST(exit_of_a_thread_fails_the_pending_call)
{
	struct pair p;

	pair_begin(&p);
	pair_call(&p, 0, 1, 0, "x");
	world_run(&p.w);
	CHECK(world_ioctl(p.s, BINDER_THREAD_EXIT, &(s32){ 0 }) == 0);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_DEAD_REPLY, NULL));
	CHECK(pair_end(&p));
}
