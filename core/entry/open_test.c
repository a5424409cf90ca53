// SPDX-License-Identifier: GPL-2.0
/* Opens: mmap and flush. */
#include "pair.h"
#include "check.h"

TEST(open_is_mapped_once)
{
	struct world_proc *proc;
	struct pair p;

	pair_begin(&p);
	proc = world_proc(&p.w);
	CHECK(binder_mmap(proc->proc, SIM_MAP_BASE, HOST_PAGE_SIZE - 1) == -EINVAL);
	CHECK(binder_mmap(proc->proc, SIM_MAP_BASE, WORLD_MAP_SIZE) == 0);
	CHECK(binder_mmap(proc->proc, SIM_MAP_BASE, WORLD_MAP_SIZE) == -EBUSY);
	CHECK(pair_end(&p));
}

TEST(open_flush_ends_waiting_reads)
{
	struct pair p;

	pair_begin(&p);
	REQUIRE(p.s->parked);
	binder_flush(p.server->proc);
	world_run(&p.w);
	CHECK(!p.s->parked && p.s->result == 0 && !world_next(p.s, NULL));
	CHECK(world_write_read(p.s, true) == BINDER_WOULD_BLOCK);
	CHECK(pair_end(&p));
}

TEST(open_read_returns_when_its_time_is_over)
{
	struct pair p;

	pair_begin(&p);
	REQUIRE(p.s->parked);
	world_resume(p.s, RESUME_TIMED_OUT);
	CHECK(!p.s->parked && p.s->result == 0 && !world_next(p.s, NULL));
	CHECK(world_write_read(p.s, true) == BINDER_WOULD_BLOCK);
	CHECK(pair_end(&p));
}
