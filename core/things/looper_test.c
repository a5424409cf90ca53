// SPDX-License-Identifier: GPL-2.0
/* Loopers: spawn requests, and their commands in any order. */
#include "pair.h"
#include "check.h"

TEST(looper_spawn_requests)
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

TEST(looper_commands_in_any_order)
{
	struct pair p;

	pair_begin(&p);
	world_command(p.c, BC_REGISTER_LOOPER, NULL);
	world_command(p.c, BC_ENTER_LOOPER, NULL);
	world_command(p.c, BC_REGISTER_LOOPER, NULL);
	world_command(p.c, BC_EXIT_LOOPER, NULL);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(pair_end(&p));
}
