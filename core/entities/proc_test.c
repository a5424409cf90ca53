// SPDX-License-Identifier: GPL-2.0
/* Processes and their references. */
#include "pair.h"
#include "check.h"

TEST(proc_outlives_its_release_while_referenced)
{
	struct binder_proc *proc;
	struct pair p;
	u32 allocs;

	pair_begin(&p);
	proc = p.client->proc;
	binder_proc_get(proc);
	world_kill(p.client);
	CHECK(proc->pid == p.client->sim->pid);
	CHECK(binder_proc_of_host(binder_proc_host(proc)) == proc);
	allocs = sim_stats.allocs;
	binder_proc_put(proc);
	CHECK(sim_stats.allocs < allocs);
	CHECK(pair_end(&p));
}
