// SPDX-License-Identifier: GPL-2.0
/* Threads: spawn requests, and what is left when a thread exits. */
#include "pair.h"
#include "check.h"

TEST(thread_spawn_requests)
{
	u32 max = 1;
	struct world_thread *second;
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(world_ioctl(p.s, BINDER_SET_MAX_THREADS, &max) == 0);
	pair_serve(&p);
	pair_call(&p, 0, 1, TF_ONE_WAY, "");
	world_run(&p.w);
	CHECK(pair_expect(p.s, BR_SPAWN_LOOPER, NULL));
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	second = world_thread(p.server);
	world_command(second, BC_REGISTER_LOOPER, NULL);
	CHECK(world_write_read(second, false) == 0);
	pair_call(&p, 0, 1, 0, "");
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	CHECK(!world_next(p.s, NULL)); /* no second spawn request: max_threads is 1 */
	CHECK(pair_end(&p));
}

TEST(thread_exit_fails_the_pending_call)
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
