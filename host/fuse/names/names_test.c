// SPDX-License-Identifier: GPL-2.0
/*
 * The opens of inodes, and the turns of threads that look a device up, by themselves: with a clock
 * and threads of the test's own.
 */
#include "base/daemon_state.h"
#include "check.h"
#include "names/bound_open.h"
#include "names/lookup_turn.h"
#include "session/persistent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define THREAD 100
#define ENDED 101
#define USER 1000
#define OTHER 1001
#define DEVICE 7
#define MANY 1000

static uint64_t now_ns = SECOND_NS;
static struct lookup_turn_waiter waiters[MANY];

/* Instead of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ (time_t)(now_ns / SECOND_NS), (long)(now_ns % SECOND_NS) };
	return 0;
}

/* ---- opens ---- */

int kill(pid_t pid, int sig)
{
	(void)sig;
	errno = pid == ENDED ? ESRCH : EPERM;
	return -1;
}

static struct inode_opens looked_up(pid_t tid)
{
	struct inode_opens opens = { 0 };

	bound_open_looked_up(&opens, tid);
	return opens;
}

TEST(bound_open_an_open_at_once_is_direct)
{
	struct inode_opens opens = looked_up(THREAD);

	CHECK(bound_open_decide(&opens, 1, THREAD) == OPEN_DIRECT);
	bound_open_release(&opens);
}

TEST(bound_open_an_open_that_comes_late_is_direct_when_the_path_is_walked_again)
{
	static const uint64_t pauses_ns[] = { 0, SECOND_NS, 1000 * SECOND_NS };
	pid_t tid = THREAD;

	for (size_t i = 0; i < sizeof(pauses_ns) / sizeof(*pauses_ns); i++) {
		struct inode_opens first = looked_up(THREAD), again, other;

		now_ns += SECOND_NS;
		CHECK(bound_open_decide(&first, 1, THREAD) == OPEN_RETRY);
		/* The thread waits for a processor; meanwhile others open. */
		now_ns += pauses_ns[i];
		for (int j = 0; j < 8; j++) {
			tid += 1024;
			other = looked_up(tid);
			now_ns += SECOND_NS;
			CHECK(bound_open_decide(&other, 3, tid) == OPEN_RETRY);
		}
		again = looked_up(THREAD);
		now_ns += SECOND_NS;
		CHECK(bound_open_decide(&again, 2, THREAD) == OPEN_DIRECT);
	}
}

TEST(bound_open_a_thread_that_ended_leaves_nothing_to_its_successor)
{
	struct inode_opens first = looked_up(ENDED), beside, next;

	now_ns += SECOND_NS;
	CHECK(bound_open_decide(&first, 1, ENDED) == OPEN_RETRY);
	now_ns += 11 * SECOND_NS;
	beside = looked_up(ENDED + 1024);
	now_ns += SECOND_NS;
	CHECK(bound_open_decide(&beside, 2, ENDED + 1024) == OPEN_RETRY);
	next = looked_up(ENDED);
	CHECK(!next.repeated);
}

TEST(bound_open_an_inode_that_is_kept_is_bound)
{
	struct inode_opens opens = looked_up(THREAD);

	now_ns += SECOND_NS;
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_RETRY);
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_HAS_PAGES);
	bound_open_pages_dropped(&opens);
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_BOUND);
	CHECK(bound_open_decide(&opens, 1, THREAD + 2) == OPEN_BOUND);
	bound_open_release(&opens);
	bound_open_release(&opens);
}

TEST(bound_open_pages_of_a_direct_open_are_its_own)
{
	struct inode_opens opens = looked_up(THREAD);

	CHECK(bound_open_decide(&opens, 1, THREAD) == OPEN_DIRECT);
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_RETRY);
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_BUSY);
	bound_open_release(&opens);
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_RETRY);
	CHECK(bound_open_decide(&opens, 1, THREAD + 1) == OPEN_HAS_PAGES);
	/* nobody may see them before they are dropped, and then there are none any more */
	CHECK(bound_open_decide(&opens, 1, THREAD + 2) == OPEN_RETRY);
	CHECK(bound_open_decide(&opens, 1, THREAD + 2) == OPEN_HAS_PAGES);
	bound_open_pages_dropped(&opens);
	CHECK(bound_open_decide(&opens, 1, THREAD + 2) == OPEN_BOUND);
}

TEST(bound_open_daemons_do_not_see_each_others_opens)
{
	struct daemon *first = daemon_self;
	struct daemon second = { .persistent = daemon_alloc(sizeof(*second.persistent)) };
	struct inode_opens opens = looked_up(THREAD), again;

	now_ns += SECOND_NS;
	CHECK(bound_open_decide(&opens, 1, THREAD) == OPEN_RETRY);
	daemon_self = &second;
	bound_open_init();
	again = looked_up(THREAD);
	CHECK(!again.repeated);
	free(second.bound_opens);
	free(second.persistent);
	daemon_self = first;
	again = looked_up(THREAD);
	CHECK(again.repeated);
}

TEST(bound_open_a_thread_that_a_crashed_server_has_refused_is_not_refused_again)
{
	struct daemon second = { .persistent = daemon_self->persistent }, *first = daemon_self;
	struct inode_opens opens;

	/* it looks the path up again after the crash, or has done so before */
	for (int before = 0; before < 2; before++) {
		daemon_self = first;
		opens = looked_up(THREAD);
		now_ns += SECOND_NS;
		CHECK(bound_open_decide(&opens, 1, THREAD) == OPEN_RETRY);
		daemon_self = &second;
		bound_open_init();
		opens = before ? (struct inode_opens){ 0 } : looked_up(THREAD);
		now_ns += SECOND_NS;
		CHECK(bound_open_decide(&opens, 2, THREAD) == (before ? OPEN_HAS_PAGES :
								     OPEN_DIRECT));
		free(second.bound_opens);
		daemon_self = first;
		bound_open_decide(&opens, 1, THREAD);	/* drops the first server's record */
	}
}

/* ---- turns ---- */

static bool takes(pid_t tid)
{
	return lookup_turn_take(USER, DEVICE, tid, NULL);
}

/* A LOOKUP by thread @tid, which waits. */
static bool waits(pid_t tid)
{
	waiters[tid].unique = (uint64_t)tid;
	return !lookup_turn_take(USER, DEVICE, tid, &waiters[tid]);
}

/* Threads 1 to TURNS have turns. */
static void take_all(void)
{
	for (pid_t tid = 1; tid <= (pid_t)TURNS; tid++)
		CHECK(takes(tid));
}

/* Are there @count waiters in @list, the first of them @first? */
static bool are(const struct lookup_turn_waiter *list, unsigned int count, pid_t first)
{
	bool is_first = !count || (list && list->tid == first);

	for (; list && count; list = list->newer)
		count--;
	return is_first && !count && !list;
}

static unsigned int length(const struct lookup_turn_waiter *list)
{
	unsigned int count = 0;

	for (; list; list = list->newer)
		count++;
	return count;
}

/* No thread has a turn or waits any more. */
static void forget_all(void)
{
	for (int ticks = 0; lookup_turn_anyone_waits() && ticks < 10000; ticks++) {
		now_ns += TURN_TICK_NS;
		lookup_turn_expire();
	}
	now_ns += SECOND_NS;
	CHECK(!lookup_turn_anyone_waits());
	/* another group's LOOKUP frees this one */
	CHECK(lookup_turn_take(OTHER, DEVICE + 2, 1, NULL));
	now_ns += SECOND_NS;
}

TEST(lookup_turn_a_few_threads_have_one_at_a_time)
{
	take_all();
	take_all();		/* each of them keeps its own */
	CHECK(!takes(TURNS + 1));
	CHECK(!lookup_turn_anyone_waits());
}

TEST(lookup_turn_other_users_and_devices_have_their_own)
{
	take_all();
	CHECK(lookup_turn_take(OTHER, DEVICE, 100, NULL));
	CHECK(lookup_turn_take(USER, DEVICE + 1, 100, NULL));
}

TEST(lookup_turn_a_thread_without_a_number_needs_none)
{
	take_all();
	CHECK(takes(0));
}

TEST(lookup_turn_an_open_gives_it_to_the_oldest_that_waits)
{
	take_all();
	CHECK(waits(20) && waits(21));
	CHECK(are(lookup_turn_end(3), 1, 20));
	CHECK(takes(20) && !takes(3));
	CHECK(are(lookup_turn_end(3), 0, 0));	/* it has none any more */
	CHECK(are(lookup_turn_end(1), 1, 21));
	CHECK(!lookup_turn_anyone_waits());
}

TEST(lookup_turn_a_thread_that_makes_no_requests_loses_it)
{
	take_all();
	now_ns += MS_NS;
	CHECK(takes(2));
	now_ns += MS_NS;
	for (pid_t tid = 20; tid < 19 + (pid_t)TURNS; tid++)
		CHECK(takes(tid));
	CHECK(!takes(50) && takes(2));
}

TEST(lookup_turn_those_that_wait_get_the_turns_of_threads_that_make_no_requests)
{
	take_all();
	CHECK(waits(20) && waits(21) && waits(22) && waits(23));
	for (int i = 0; i < 20; i++) {
		now_ns += MS_NS / 10;
		CHECK(takes(1));
	}
	CHECK(are(lookup_turn_expire(), TURNS - 1, 20));
}

/* stat(2) in a loop */
TEST(lookup_turn_a_thread_that_does_not_open_loses_it_when_others_wait)
{
	take_all();
	for (int i = 0; i < 100; i++) {
		now_ns += MS_NS / 4;
		CHECK(takes(1));
	}
	for (pid_t tid = 2; tid <= (pid_t)TURNS; tid++)
		CHECK(takes(tid));
	CHECK(waits(20));
	CHECK(are(lookup_turn_expire(), 1, 20));
	CHECK(!takes(1));
}

/* The one that looks the name up anew is among the newest; the kernel keeps the others. */
TEST(lookup_turn_a_stall_lets_the_newest_go_more_of_them_each_time)
{
	pid_t newest = MANY - 1;
	unsigned int gone = 0;

	take_all();
	for (pid_t tid = 20; tid <= newest; tid++)
		CHECK(waits(tid));
	for (unsigned int batch = 1; lookup_turn_anyone_waits(); batch *= 2) {
		unsigned int left = MANY - 20 - gone;
		unsigned int wanted = batch < left ? batch : left;

		now_ns += TURN_TICK_NS;
		CHECK(are(lookup_turn_expire(), wanted, newest));
		newest -= (pid_t)wanted;
		gone += wanted;
		CHECK(batch <= 512);	/* 10 ticks for 1,000 */
	}
}

TEST(lookup_turn_a_stall_ends_with_a_request)
{
	take_all();
	for (pid_t tid = 20; tid < 100; tid++)
		CHECK(waits(tid));
	for (unsigned int batch = 1; batch <= 8; batch *= 2) {
		now_ns += TURN_TICK_NS;
		CHECK(length(lookup_turn_expire()) == batch);
	}
	lookup_turn_end(99 - 14);
	now_ns += TURN_TICK_NS / 2;
	lookup_turn_expire();
	now_ns += TURN_TICK_NS;
	CHECK(length(lookup_turn_expire()) == 1);
}

/* The first LOOKUP of a thread needs no lock: it may pass while others are kept. */
TEST(lookup_turn_threads_that_come_do_not_end_a_stall)
{
	pid_t tid = 20;

	take_all();
	for (unsigned int batch = 1; batch <= 64; batch *= 2) {
		for (pid_t end = tid + (pid_t)batch + 10; tid < end; tid++)
			CHECK(takes(tid) || waits(tid));
		now_ns += TURN_TICK_NS;
		CHECK(length(lookup_turn_expire()) == batch);
	}
}

/* On a slow machine each takes long. */
TEST(lookup_turn_requests_at_longer_intervals_are_no_stall)
{
	take_all();
	for (int i = 0; i < 40; i++) {
		now_ns += MS_NS / 10;
		CHECK(takes(1 + i % (pid_t)TURNS));
	}
	CHECK(waits(20));
	now_ns += 2 * TURN_TICK_NS;
	CHECK(!lookup_turn_expire());
	now_ns += 2 * TURN_TICK_NS;
	CHECK(are(lookup_turn_expire(), 1, 20));
}

TEST(lookup_turn_none_waits_for_long)
{
	uint64_t end = now_ns + 6 * SECOND_NS;

	take_all();
	CHECK(waits(20));
	while (now_ns < end && lookup_turn_anyone_waits()) {
		for (pid_t tid = 21; tid < 800; tid++)	/* newer ones, without end */
			takes(tid);
		now_ns += TURN_TICK_NS / 2;
		lookup_turn_expire();
	}
	CHECK(!lookup_turn_anyone_waits());
}

TEST(lookup_turn_a_request_is_withdrawn_from_any_place)
{
	static const pid_t order[] = { 21, 20, 23, 22 };

	take_all();
	CHECK(waits(20) && waits(21) && waits(22) && waits(23));
	CHECK(lookup_turn_waiting(22) == 22 && !lookup_turn_waiting(24));
	CHECK(!lookup_turn_withdraw(24));
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		CHECK(are(lookup_turn_withdraw((uint64_t)order[i]), 1, order[i]));
		CHECK(!lookup_turn_waiting((uint64_t)order[i]));
	}
	CHECK(!lookup_turn_anyone_waits());
	CHECK(!lookup_turn_end(1));
}

TEST(lookup_turn_many_users_at_a_time_are_noticed)
{
	for (uid_t uid = 0; uid < 8; uid++) {
		CHECK(!lookup_turn_many_users());
		CHECK(lookup_turn_take(uid, DEVICE, (pid_t)uid + 1, NULL));
	}
	CHECK(lookup_turn_many_users());
	now_ns += SECOND_NS;
	CHECK(takes(1));
	CHECK(!lookup_turn_many_users());
}

TEST(lookup_turn_daemons_do_not_see_each_others_turns)
{
	struct daemon *first = daemon_self;
	struct daemon second = { 0 };

	take_all();
	CHECK(waits(20));
	daemon_self = &second;
	lookup_turn_init();
	CHECK(!lookup_turn_anyone_waits() && !lookup_turn_waiting(20));
	CHECK(takes(20) && !lookup_turn_end(1));
	forget_all();
	daemon_self = first;
	CHECK(lookup_turn_waiting(20) == 20);
	CHECK(are(lookup_turn_end(1), 1, 20));
	free(second.lookup_turns);
}

static void before(void)
{
	daemon_self->persistent = daemon_alloc(sizeof(*daemon_self->persistent));
	bound_open_init();
	forget_all();
}

static void after(void)
{
	forget_all();
	free(daemon_self->bound_opens);
	free(daemon_self->persistent);
}

int main(int argc, char **argv)
{
	static struct daemon daemon;

	(void)argc;
	daemon_self = &daemon;
	lookup_turn_init();
	return unit_run(argv + 1, before, after);
}
