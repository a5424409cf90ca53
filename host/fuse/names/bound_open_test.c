// SPDX-License-Identifier: GPL-2.0
/* The opens of inodes by themselves, with a clock and threads of the test's own. */
#include "base/daemon_state.h"
#include "check.h"
#include "names/bound_open.h"
#include "session/persistent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SECOND_NS 1000000000ull
#define THREAD 100
#define ENDED 101

static uint64_t now_ns = SECOND_NS;

/* Instead of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ (time_t)(now_ns / SECOND_NS), (long)(now_ns % SECOND_NS) };
	return 0;
}

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

static void start(void)
{
	static struct daemon daemon;

	daemon_self = &daemon;
	daemon.persistent = daemon_alloc(sizeof(*daemon.persistent));
	bound_open_init();
}

static void end(void)
{
	free(daemon_self->bound_opens);
	free(daemon_self->persistent);
}

int main(int argc, char **argv)
{
	(void)argc;
	return unit_run(argv + 1, start, end);
}
