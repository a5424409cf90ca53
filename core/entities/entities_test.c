// SPDX-License-Identifier: GPL-2.0
/* Contexts, nodes, notices, processes and threads: what the conformance suite cannot see. */
#include "common/limits.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/thread.h"
#include "entities/world.h"
#include "pair.h"
#include "check.h"

/* ---- context.c: becoming context manager ----------------------------------------------------- */

PAIR_TEST(context_has_one_manager)
{
	CHECK(world_become_manager(p->c) == -EBUSY);
	world_kill(p->server);
	p->client->sim->euid = 1001;
	CHECK(world_become_manager(p->c) == -EPERM); /* another user than before */
	CHECK(world_ioctl(p->c, BINDER_SET_INHERIT_FIFO_PRIO, NULL) == -EPERM);
	p->client->sim->euid = 1000;
	CHECK(world_become_manager(p->c) == 0);
}

/* ---- node.c: what others see of a node whose counts are changing ----------------------------- */

/* The state that another thread of the owner may find within binder_node_reconcile(). */
PAIR_TEST(node_strong_reference_counts_beside_a_weak_one)
{
	struct binder_node_debug_info info = { 0 };
	struct binder_node *node;

	CHECK(pair_send_object(p, 0xaaa, 0xbbb) == 1);
	CHECK(pair_expect(p->c, BR_INCREFS, NULL) && pair_expect(p->c, BR_ACQUIRE, NULL));
	node = binder_node_find(p->client->proc, 0xaaa);
	if (CHECK(node)) {
		node->has_weak = false;
		binder_node_describe_from(p->client->proc, 0xaaa, &info);
		node->has_weak = true;
		binder_node_unpin(node);
	}
	CHECK(info.ptr == 0xaaa && !info.has_strong_ref && !info.has_weak_ref);
}

/* ---- notice.c: the bound of notices; the tests of notices/ have the rest --------------------- */

PAIR_TEST(notice_number_is_limited)
{
	struct binder_proc *proc;
	struct binder_notice *notice;
	struct bl_list list = BL_INIT(list);
	struct bl_list *link;
	u32 nr = 0;

	proc = p->client->proc;
	while ((notice = binder_notice_new(proc, WORK_FREEZE, nr))) {
		bl_add_tail(&list, &notice->work.link);
		nr++;
	}
	CHECK(nr == BINDER_MAX_NOTICES);
	binder_notice_discard(bl_entry(bl_pop(&list), struct binder_notice, work.link));
	notice = binder_notice_new(proc, WORK_FREEZE, nr);
	CHECK(notice);
	binder_notice_discard(notice);
	while ((link = bl_pop(&list)))
		binder_notice_discard(bl_entry(link, struct binder_notice, work.link));
}

/* ---- proc.c: processes and their references -------------------------------------------------- */

PAIR_TEST(proc_outlives_its_release_while_referenced)
{
	struct binder_proc *proc;
	u32 allocs;

	proc = p->client->proc;
	binder_proc_get(proc);
	world_kill(p->client);
	CHECK(proc->pid == p->client->sim->pid);
	CHECK(binder_proc_of_host(binder_proc_host(proc)) == proc);
	allocs = sim_stats.allocs;
	binder_proc_put(proc);
	CHECK(sim_stats.allocs < allocs);
}

/* ---- thread.c: looking threads up, listing them, and their references ------------------------ */

PAIR_TEST(thread_is_found_until_it_exits)
{
	struct binder_thread *thread, *again;
	struct world_thread *t;

	t = world_thread(p->client);
	CHECK(!binder_thread_find(p->client->proc, t->tid));
	thread = binder_thread_find_or_new(p->client->proc, t->tid, &t->sim);
	again = binder_thread_find_or_new(p->client->proc, t->tid, &t->sim);
	REQUIRE(thread && thread == again);
	CHECK(binder_thread_find(p->client->proc, t->tid) == thread);
	binder_thread_put(again);
	CHECK(world_ioctl(t, BINDER_THREAD_EXIT, &(s32){ 0 }) == 0);
	CHECK(!binder_thread_find(p->client->proc, t->tid));
	CHECK(thread->is_dead && thread->tid == t->tid); /* kept by the reference */
	binder_thread_put(thread);
}

PAIR_TEST(thread_list_is_in_order)
{
	const s32 tids[] = { 300, -7, 200, 100 };
	struct world_thread *t;
	struct world_proc *proc;
	s32 got[4] = { 0 };
	u32 total, i;

	proc = world_proc(&p->w);
	t = world_thread(proc);
	for (i = 0; i < 4; i++)
		binder_thread_put(binder_thread_find_or_new(proc->proc, tids[i], &t->sim));
	CHECK(binder_list_threads(proc->proc, 101, got, 4, &total) == 2 && total == 4);
	CHECK(got[0] == 200 && got[1] == 300);
	CHECK(binder_list_threads(proc->proc, INT32_MIN, got, 1, &total) == 1 && got[0] == -7);
	CHECK(!binder_list_threads(proc->proc, 301, got, 4, &total) && total == 4);
}

PAIR_TEST(thread_last_reference_is_left_to_its_owner)
{
	struct binder_thread *thread;
	struct world_thread *t;

	t = world_thread(p->client);
	thread = binder_thread_find_or_new(p->client->proc, t->tid, &t->sim);
	REQUIRE(thread);
	binder_thread_get(thread);
	CHECK(binder_thread_put_unless_last(thread));
	CHECK(world_ioctl(t, BINDER_THREAD_EXIT, &(s32){ 0 }) == 0);
	CHECK(!binder_thread_put_unless_last(thread));
	CHECK(thread->is_dead && thread->tid == t->tid);
	binder_thread_put(thread);
}

/* ---- stage.h: the stages of a round trip are in order, each by the right thread -------------- */

static bool is_stage(u32 at, enum host_stage stage, const struct world_thread *t, u32 id,
		     u32 answers)
{
	const struct sim_stage *s = &sim_stages[at];

	return s->stage == (u32)stage && s->tid == t->tid && s->pid == t->proc->sim->pid &&
	       s->id == id && s->answers == answers;
}

PAIR_TEST(stage_records_of_a_round_trip)
{
	struct binder_transaction_data tr;
	u32 call, reply;

	sim_nr_stages = 0;
	sim_stages_wanted = true;
	CHECK(pair_call(p, 0, 7, 0, "question") == BINDER_WOULD_BLOCK);
	REQUIRE(pair_receive(p, &tr));
	world_free_buffer(p->s, &tr);
	pair_reply(p, "answer");
	sim_stages_wanted = false;
	REQUIRE(sim_nr_stages == 10);
	call = sim_stages[1].id;
	reply = sim_stages[6].id;
	CHECK(call && reply && call != reply);
	CHECK(is_stage(0, HOST_STAGE_IOC, p->c, 0, 0));
	CHECK(is_stage(1, HOST_STAGE_WR_IN, p->c, call, 0));
	CHECK(is_stage(2, HOST_STAGE_ENQ, p->c, call, 0));
	CHECK(is_stage(3, HOST_STAGE_DEQ, p->s, call, 0));
	CHECK(is_stage(4, HOST_STAGE_COPY, p->s, call, 0));
	CHECK(is_stage(5, HOST_STAGE_IOC, p->s, 0, 0));
	CHECK(is_stage(6, HOST_STAGE_WR_IN, p->s, reply, 0));
	CHECK(is_stage(7, HOST_STAGE_ENQ, p->s, reply, call));
	CHECK(is_stage(8, HOST_STAGE_DEQ, p->c, reply, 0));
	CHECK(is_stage(9, HOST_STAGE_COPY, p->c, reply, 0));
}

/* A call that fails before it is_stage queued leaves no record of being queued. */
PAIR_TEST(stage_records_of_a_call_that_fails)
{
	sim_nr_stages = 0;
	sim_stages_wanted = true;
	pair_call(p, 77, 7, 0, "no such handle");
	sim_stages_wanted = false;
	CHECK(sim_nr_stages == 2 && sim_stages[1].stage == HOST_STAGE_WR_IN);
}

/* ---- world.c: debug ids ---------------------------------------------------------------------- */

TEST(world_ids_of_threads_are_unique)
{
	enum { CALLS = 3 * BINDER_ID_BLOCK / 2 };
	struct binder_thread one = { 0 }, other = { 0 };
	u32 last_one = 0, last_other = 0, i;

	binder_world_init();
	for (i = 0; i < CALLS; i++) {
		u32 id = binder_thread_next_id(&one), another = binder_thread_next_id(&other);

		CHECK(id > last_one && another > last_other && id != another);
		/* in blocks: consecutive but at the end of one */
		CHECK(!i || i == BINDER_ID_BLOCK || id == last_one + 1);
		CHECK(binder_next_id() > another);
		last_one = id;
		last_other = another;
	}
	/* a block with 0 in it */
	one.nr_ids = 0;
	host_atomic_set(&binder_world.last_id, -3);
	CHECK(binder_thread_next_id(&one) == (u32)-2);
	CHECK(binder_thread_next_id(&one) == (u32)-1);
	CHECK(binder_thread_next_id(&one) == 1);
}

TEST(world_ids_are_not_0)
{
	u32 id;

	binder_world_init();
	id = binder_next_id();
	CHECK(id && binder_next_id() == id + 1);
	host_atomic_set(&binder_world.last_id, -1);
	CHECK(binder_next_id() == 1);
}
