// SPDX-License-Identifier: GPL-2.0
/* The priority of a thread while it serves a call, and afterwards. */
#include "pure/priority_flags.h"
#include "pair.h"
#include "calls/inherit.h"
#include "entities/proc.h"
#include "check.h"

#define NICE(n) ((struct host_priority){ .policy = 0, .prio = (n) })
#define FIFO(n) ((struct host_priority){ .policy = 1, .prio = (n) })

static bool has(const struct world_thread *t, struct host_priority p)
{
	return t->priority.policy == p.policy && t->priority.prio == p.prio;
}

/* A pair whose context manager has the node flags @flags and the priority @base. */
static void begin(struct pair *p, u32 flags, struct host_priority base)
{
	pair_make(p);
	p->server->sim->may_rt = true;
	p->s->priority = base;
	p->server->proc->default_priority = binder_priority_of_open(base);
	pair_start(p, flags);
}

/* The client calls at the priority @caller. */
static void call_at(struct pair *p, struct host_priority caller, u32 flags)
{
	p->c->priority = caller;
	pair_call(p, 0, 1, flags, "");
	world_run(&p->w);
	CHECK(pair_expect(p->s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
}

TEST(priority_is_inherited_and_restored)
{
	struct pair p;

	begin(&p, 19, NICE(5));
	call_at(&p, NICE(-7), 0);
	CHECK(has(p.s, NICE(-7)));
	pair_reply(&p, "");
	CHECK(has(p.s, NICE(5)));
	CHECK(pair_end(&p));
}

/* A one-way call is served at the priority that the receiver's opener had. */
TEST(priority_of_a_oneway_call)
{
	const struct host_priority batch = { .policy = 3, .prio = 5 };
	struct pair p;

	begin(&p, 19, batch);
	call_at(&p, NICE(-7), TF_ONE_WAY);
	CHECK(has(p.s, batch));
	CHECK(p.server->proc->default_priority.policy == batch.policy);
	CHECK(pair_end(&p));
}

TEST(priority_minimum_of_the_node)
{
	struct pair p;

	begin(&p, (u8)-10, NICE(0));
	call_at(&p, NICE(15), 0);
	CHECK(has(p.s, NICE(-10)));
	pair_reply(&p, "");
	CHECK(has(p.s, NICE(0)));
	CHECK(pair_end(&p));
}

TEST(priority_realtime_needs_a_flag_of_the_node)
{
	struct pair p;

	begin(&p, 19, NICE(5));
	call_at(&p, FIFO(50), 0);
	CHECK(has(p.s, NICE(0)));
	CHECK(pair_end(&p));
	begin(&p, 19 | FLAT_BINDER_FLAG_INHERIT_RT, NICE(5));
	call_at(&p, FIFO(50), 0);
	CHECK(has(p.s, FIFO(50)));
	pair_reply(&p, "");
	CHECK(has(p.s, NICE(5)));
	CHECK(pair_end(&p));
}

TEST(priority_oneway_gets_the_minimum_of_the_node)
{
	struct pair p;

	begin(&p, 19, NICE(5));
	call_at(&p, NICE(-7), TF_ONE_WAY);
	CHECK(has(p.s, NICE(5)));
	CHECK(pair_end(&p));
	begin(&p, (u8)-3, NICE(5));
	call_at(&p, NICE(-7), TF_ONE_WAY);
	CHECK(has(p.s, NICE(-3)));
	/* A thread that waits for work of the process has its own priority. */
	CHECK(world_write_read(p.s, true) == BINDER_WOULD_BLOCK);
	CHECK(has(p.s, NICE(5)));
	CHECK(pair_end(&p));
}

TEST(priority_realtime_of_the_thread_is_kept)
{
	struct pair p;

	begin(&p, 19 | FLAT_BINDER_FLAG_INHERIT_RT, FIFO(10));
	CHECK(p.server->proc->default_priority.policy == 0);
	call_at(&p, NICE(-7), 0);
	CHECK(has(p.s, FIFO(10)));
	pair_reply(&p, "");
	CHECK(has(p.s, FIFO(10)));
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	pair_serve(&p);
	CHECK(has(p.s, FIFO(10)));
	call_at(&p, FIFO(30), 0);
	CHECK(has(p.s, FIFO(30)));
	pair_reply(&p, "");
	CHECK(has(p.s, FIFO(10)));
	CHECK(pair_end(&p));
}

TEST(priority_is_restored_without_a_reply)
{
	struct pair p;
	u32 unused = 0;

	/* by a thread that exits */
	begin(&p, 19 | FLAT_BINDER_FLAG_INHERIT_RT, NICE(5));
	call_at(&p, FIFO(50), 0);
	CHECK(world_ioctl(p.s, BINDER_THREAD_EXIT, &unused) == 0);
	CHECK(has(p.s, NICE(5)));
	CHECK(pair_end(&p));
	/* and after a one-way call to a real-time node */
	begin(&p, 13 | 2 << FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT, FIFO(3));
	call_at(&p, NICE(0), TF_ONE_WAY);
	CHECK(p.s->priority.policy == 2 && p.s->priority.prio == 13);
	CHECK(world_write_read(p.s, true) == BINDER_WOULD_BLOCK);
	CHECK(has(p.s, FIFO(3)));
	CHECK(pair_end(&p));
}

/* The last call is told with these priorities. */
static bool is_told(bool has_caller, struct host_priority caller, struct host_priority served)
{
	const struct sim_priorities *told = &sim_priorities;

	return told->id && told->has_caller == has_caller && told->caller.policy == caller.policy &&
	       told->caller.prio == caller.prio && told->served.policy == served.policy &&
	       told->served.prio == served.prio;
}

static void reply_and_serve(struct pair *p)
{
	pair_reply(p, "");
	CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));
	pair_serve(p);
}

TEST(priorities_are_told)
{
	struct pair p;

	begin(&p, 19, NICE(5));
	sim_priorities = (struct sim_priorities){ 0 };
	call_at(&p, NICE(-7), 0);
	reply_and_serve(&p);
	CHECK(!sim_priorities.id); /* nobody asks */
	sim_priorities_wanted = true;
	call_at(&p, NICE(-7), 0);
	CHECK(is_told(true, NICE(-7), NICE(-7)));
	sim_priorities.id = 0;
	reply_and_serve(&p);
	CHECK(!sim_priorities.id);
	/* The node does not allow real-time priorities. */
	call_at(&p, FIFO(30), 0);
	CHECK(is_told(true, FIFO(30), NICE(0)));
	reply_and_serve(&p);
	call_at(&p, NICE(-7), TF_ONE_WAY);
	CHECK(is_told(false, NICE(0), NICE(5)));
	CHECK(pair_end(&p));
	/* It does, but the server lacks the right: what it got, not what was wanted. */
	begin(&p, 19 | FLAT_BINDER_FLAG_INHERIT_RT, NICE(5));
	p.server->sim->may_rt = false;
	call_at(&p, FIFO(30), 0);
	CHECK(is_told(true, FIFO(30), NICE(-20)));
	pair_reply(&p, "");
	CHECK(has(p.s, NICE(5)));
	sim_priorities_wanted = false;
	CHECK(pair_end(&p));
}
