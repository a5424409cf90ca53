// SPDX-License-Identifier: GPL-2.0
/*
 * What Android's own kernels add: an object may request a real-time policy, and may allow that of
 * its callers to be inherited.
 */
#include "actor_scheduling.h"
#include "expect.h"
#include "test.h"

/* During one call of such a caller the server is scheduled like this, and at nice 0 afterwards. */
static void expect_served(struct sched_pair *s, int policy, int prio, int served_policy,
			  int served_prio)
{
	const struct returned *got;

	sched_set(s->caller, policy, prio);
	got = sched_pair_serve(s);
	sched_expect(s->server, served_policy, served_prio, __FILE__, __LINE__);
	sched_pair_end(s, got);
	expect_nice(s->server, 0);
}

TEST(rt_least_above_nice_0, "A least nice value may be above 0.", "inherit_rt")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(-3));
	const struct returned *got;

	sched_set_nice(s.caller, 10);
	got = sched_pair_serve(&s);
	expect_nice(s.server, -3);
	sched_pair_end(&s, got);
	expect_nice(s.server, 0);
	sched_set_nice(s.caller, -4);
	got = sched_pair_serve(&s);
	expect_nice(s.server, -4);
	sched_pair_end(&s, got);
	call_oneway(s.caller, s.handle);
	expect(s.server, BR_TRANSACTION);
	expect_nice(s.server, -3);
}

TEST(rt_caller_at_a_least,
     "A real-time caller counts as nice 0 if the object requests a higher minimum.", "inherit_rt")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(-3));

	expect_served(&s, SCHED_FIFO, 20, SCHED_OTHER, -3);
}

TEST(rt_is_inherited_if_allowed,
     "If the object allows it, policy and priority of a real-time caller are inherited.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);

	expect_served(&s, SCHED_FIFO, 30, SCHED_FIFO, 30);
	expect_served(&s, SCHED_RR, 77, SCHED_RR, 77);
	expect_served(&s, SCHED_FIFO, 1, SCHED_FIFO, 1);
	expect_served(&s, SCHED_RR, 99, SCHED_RR, 99);
	expect_served(&s, SCHED_OTHER, 0, SCHED_OTHER, 0);
}

TEST(rt_least_of_a_node,
     "An object may request a real-time policy for all its callers.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_REALTIME(SCHED_RR, 13));

	expect_served(&s, SCHED_OTHER, 0, SCHED_RR, 13);
	expect_served(&s, SCHED_FIFO, 30, SCHED_RR, 13);
	s.handle = give(s.server, s.caller, 0x30, 0x40, MIN_REALTIME(SCHED_FIFO, 99));
	expect_served(&s, SCHED_OTHER, 0, SCHED_FIFO, 99);
}

TEST(rt_least_and_inherited,
     "With both a minimum and inheritance the more urgent one counts; FIFO goes before RR.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_REALTIME(SCHED_RR, 13) | INHERIT_RT);

	expect_served(&s, SCHED_FIFO, 50, SCHED_FIFO, 50);
	expect_served(&s, SCHED_FIFO, 5, SCHED_RR, 13);
	expect_served(&s, SCHED_FIFO, 13, SCHED_FIFO, 13);
	expect_served(&s, SCHED_OTHER, 0, SCHED_RR, 13);
	s.handle = give(s.server, s.caller, 0x30, 0x40, MIN_REALTIME(SCHED_FIFO, 13) | INHERIT_RT);
	expect_served(&s, SCHED_RR, 13, SCHED_FIFO, 13);
	expect_served(&s, SCHED_RR, 14, SCHED_RR, 14);
}

TEST(rt_odd_least, "A real-time minimum without a priority, or above 99, is ignored.", "inherit_rt")
{
	struct sched_pair s = sched_pair_new(MIN_REALTIME(SCHED_FIFO, 0));

	expect_served(&s, SCHED_OTHER, 0, SCHED_OTHER, 0);
	s.handle = give(s.server, s.caller, 0x30, 0x40, MIN_REALTIME(SCHED_RR, 100));
	expect_served(&s, SCHED_OTHER, 0, SCHED_OTHER, 0);
}

TEST(rt_goes_back_over_a_change,
     "The reply restores the server's policy even if the server changed it meanwhile.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);
	const struct returned *got;

	sched_set(s.caller, SCHED_FIFO, 30);
	got = sched_pair_serve(&s);
	sched_set(s.server, SCHED_RR, 31);
	sched_pair_end(&s, got);
	expect_nice(s.server, 0);
	got = sched_pair_serve(&s);
	sched_set(s.server, SCHED_OTHER, 0);
	sched_set_nice(s.server, 9);
	sched_pair_end(&s, got);
	expect_nice(s.server, 0);
	expect_realtime(s.caller, SCHED_FIFO, 30);
}

TEST(rt_server_inherits_more,
     "A real-time server is raised by a more urgent caller, and restored afterwards.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);
	const struct returned *got;

	sched_set(s.server, SCHED_RR, 10);
	sched_set(s.caller, SCHED_FIFO, 30);
	got = sched_pair_serve(&s);
	expect_realtime(s.server, SCHED_FIFO, 30);
	sched_pair_end(&s, got);
	expect_realtime(s.server, SCHED_RR, 10);
	sched_set(s.caller, SCHED_OTHER, 0);
	got = sched_pair_serve(&s);
	expect_realtime(s.server, SCHED_RR, 10);
	sched_pair_end(&s, got);
}

TEST(rt_oneway_does_not_carry_it,
     "A one-way call passes no policy on, allowed or not.", "inherit_rt")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);

	sched_set(s.caller, SCHED_FIFO, 30);
	call_oneway(s.caller, s.handle);
	expect(s.server, BR_TRANSACTION);
	expect_nice(s.server, 0);
}

TEST(rt_oneway_takes_the_nodes_least,
     "The object's policy applies to one-way calls, until the thread reads for the process "
     "again.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_REALTIME(SCHED_RR, 13));

	call_oneway(s.caller, s.handle);
	free_buffer(s.server, expect(s.server, BR_TRANSACTION));
	expect_realtime(s.server, SCHED_RR, 13);
	expect_nothing(s.server);
	expect_nice(s.server, 0);
	sched_set(s.server, SCHED_FIFO, 7);
	call_oneway(s.caller, s.handle);
	free_buffer(s.server, expect(s.server, BR_TRANSACTION));
	expect_realtime(s.server, SCHED_RR, 13);
	expect_nothing(s.server);
	expect_realtime(s.server, SCHED_FIFO, 7);
}

TEST(rt_is_passed_on,
     "Nested calls pass the inherited priority on, as far as each object allows.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);
	const struct returned *given, *outer, *inner;
	uint32_t middle;

	/* the manager, in the middle, gives the server an object of its own */
	put_txn(s.caller, (struct txn){ .handle = s.handle,
					.objects = { OBJ_BINDER(0x50, 0x60,
								.flags = 19 | INHERIT_RT) } });
	flush(s.caller);
	given = expect(s.server, BR_TRANSACTION);
	middle = object_at(given, 0)->flat.handle;
	put_u32(s.server, BC_ACQUIRE, middle);
	complete_call(s.server, given, s.caller);

	sched_set(s.server, SCHED_FIFO, 40);
	outer = call_received(s.server, middle, s.caller);
	expect_realtime(s.caller, SCHED_FIFO, 40);
	call(s.caller, s.handle);
	inner = expect_sent(s.server, BR_TRANSACTION);
	expect_realtime(s.server, SCHED_FIFO, 40);
	complete_call(s.server, inner, s.caller);
	expect_realtime(s.caller, SCHED_FIFO, 40);
	answer(s.caller, outer);
	expect_nice(s.caller, 0);
	free_buffer(s.server, expect(s.server, BR_REPLY));
}

TEST(rt_reaches_the_third,
     "A server of a nested call is as urgent as the first caller.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);
	struct client *first = client_new();
	const struct returned *given, *outer, *inner;
	uint32_t to_first, middle;

	/* the manager, in the middle, gives the first caller an object of its own */
	send_cmd(first, BC_ENTER_LOOPER);
	to_first = give(first, s.caller, 0x70, 0x80, 0);
	put_txn(s.caller, (struct txn){ .handle = to_first,
					.objects = { OBJ_BINDER(0x50, 0x60,
								.flags = 19 | INHERIT_RT) } });
	flush(s.caller);
	given = expect(first, BR_TRANSACTION);
	middle = object_at(given, 0)->flat.handle;
	put_u32(first, BC_ACQUIRE, middle);
	complete_call(first, given, s.caller);

	sched_set(first, SCHED_RR, 40);
	outer = call_received(first, middle, s.caller);
	expect_realtime(s.caller, SCHED_RR, 40);
	inner = call_received(s.caller, s.handle, s.server);
	expect_realtime(s.server, SCHED_RR, 40);
	answer(s.server, inner);
	expect_nice(s.server, 0);
	finish_call(s.caller);
	expect_realtime(s.caller, SCHED_RR, 40);
	answer(s.caller, outer);
	expect_nice(s.caller, 0);
	finish_call(first);
	expect_realtime(first, SCHED_RR, 40);
}

TEST(rt_thread_exit_gives_it_back,
     "A thread that exits without a reply gets its own priority back.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);
	int zero = 0;

	sched_set(s.caller, SCHED_FIFO, 30);
	sched_pair_serve(&s);
	expect_realtime(s.server, SCHED_FIFO, 30);
	EXPECT_OK(client_ioctl(s.server, BINDER_THREAD_EXIT, &zero));
	expect_nice(s.server, 0);
}

TEST(rt_is_not_forked, "Threads that the server starts meanwhile do not inherit the policy.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);

	sched_set(s.caller, SCHED_FIFO, 30);
	sched_pair_serve(&s);
	expect_realtime(s.server, SCHED_FIFO, 30);
	expect_nice(client_thread(s.server), 0);
}

TEST(rt_unprivileged_up_to_its_limit,
     "A server without privilege gets what RLIMIT_RTPRIO allows.",
     "inherit_rt realtime")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);

	sched_unprivileged(s.server, 0, 20);
	expect_served(&s, SCHED_FIFO, 15, SCHED_FIFO, 15);
	expect_served(&s, SCHED_FIFO, 30, SCHED_FIFO, 20);
	expect_served(&s, SCHED_RR, 21, SCHED_RR, 20);
}

TEST(rt_unprivileged_without_limit,
     "With RLIMIT_RTPRIO 0 a server gets the most urgent nice value that it may have, or keeps "
     "its own.", "inherit_rt")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);

	sched_unprivileged(s.server, 0, 0);
	expect_served(&s, SCHED_FIFO, 15, SCHED_OTHER, 0);
}

TEST(rt_unprivileged_with_nice,
     "With RLIMIT_RTPRIO 0, RLIMIT_NICE bounds the nice value that the server gets instead.",
     "inherit_rt")
{
	struct sched_pair s = sched_pair_new(MIN_NICE(19) | INHERIT_RT);

	sched_unprivileged(s.server, 25, 0);
	expect_served(&s, SCHED_FIFO, 15, SCHED_OTHER, -5);
}
