// SPDX-License-Identifier: GPL-2.0
/* Threads: looking them up, listing them, and their references. */
#include "pair.h"
#include "check.h"

TEST(thread_is_found_until_it_exits)
{
	struct binder_thread *thread, *again;
	struct world_thread *t;
	struct pair p;

	pair_begin(&p);
	t = world_thread(p.client);
	CHECK(!binder_thread_find(p.client->proc, t->tid));
	thread = binder_thread_find_or_new(p.client->proc, t->tid, &t->sim);
	again = binder_thread_find_or_new(p.client->proc, t->tid, &t->sim);
	REQUIRE(thread && thread == again);
	CHECK(binder_thread_find(p.client->proc, t->tid) == thread);
	binder_thread_put(again);
	CHECK(world_ioctl(t, BINDER_THREAD_EXIT, &(s32){ 0 }) == 0);
	CHECK(!binder_thread_find(p.client->proc, t->tid));
	CHECK(thread->is_dead && thread->tid == t->tid); /* kept by the reference */
	binder_thread_put(thread);
	CHECK(pair_end(&p));
}

TEST(thread_list_is_in_order)
{
	const s32 tids[] = { 300, -7, 200, 100 };
	struct world_thread *t;
	struct world_proc *proc;
	s32 got[4] = { 0 };
	struct pair p;
	u32 total, i;

	pair_begin(&p);
	proc = world_proc(&p.w);
	t = world_thread(proc);
	for (i = 0; i < 4; i++)
		binder_thread_put(binder_thread_find_or_new(proc->proc, tids[i], &t->sim));
	CHECK(binder_list_threads(proc->proc, 101, got, 4, &total) == 2 && total == 4);
	CHECK(got[0] == 200 && got[1] == 300);
	CHECK(binder_list_threads(proc->proc, INT32_MIN, got, 1, &total) == 1 && got[0] == -7);
	CHECK(!binder_list_threads(proc->proc, 301, got, 4, &total) && total == 4);
	CHECK(pair_end(&p));
}

TEST(thread_last_reference_is_left_to_its_owner)
{
	struct binder_thread *thread;
	struct world_thread *t;
	struct pair p;

	pair_begin(&p);
	t = world_thread(p.client);
	thread = binder_thread_find_or_new(p.client->proc, t->tid, &t->sim);
	REQUIRE(thread);
	binder_thread_get(thread);
	CHECK(binder_thread_put_unless_last(thread));
	CHECK(world_ioctl(t, BINDER_THREAD_EXIT, &(s32){ 0 }) == 0);
	CHECK(!binder_thread_put_unless_last(thread));
	CHECK(thread->is_dead && thread->tid == t->tid);
	binder_thread_put(thread);
	CHECK(pair_end(&p));
}
