// SPDX-License-Identifier: GPL-2.0
/* The claims of inodes by themselves, with a clock and threads of the test's own. */
#include "check.h"
#include "claim.h"

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

static struct claim looked_up(pid_t tid)
{
	struct claim claim = { 0 };

	claim_looked_up(&claim, tid);
	return claim;
}

TEST(claim_an_open_at_once_is_direct)
{
	struct claim claim = looked_up(THREAD);

	CHECK(claim_open(&claim, 1, THREAD) == CLAIM_DIRECT);
	claim_release(&claim);
}

TEST(claim_an_open_that_comes_late_is_direct_when_the_path_is_walked_again)
{
	static const uint64_t pauses_ns[] = { 0, SECOND_NS, 1000 * SECOND_NS };
	pid_t tid = THREAD;

	for (size_t i = 0; i < sizeof(pauses_ns) / sizeof(*pauses_ns); i++) {
		struct claim first = looked_up(THREAD), again, other;

		now_ns += SECOND_NS;
		CHECK(claim_open(&first, 1, THREAD) == CLAIM_RETRY);
		/* It waits for a processor. Others open meanwhile, whose records are beside its. */
		now_ns += pauses_ns[i];
		for (int j = 0; j < 8; j++) {
			tid += 1024;
			other = looked_up(tid);
			now_ns += SECOND_NS;
			CHECK(claim_open(&other, 3, tid) == CLAIM_RETRY);
		}
		again = looked_up(THREAD);
		now_ns += SECOND_NS;
		CHECK(claim_open(&again, 2, THREAD) == CLAIM_DIRECT);
	}
}

TEST(claim_a_thread_that_ended_leaves_nothing_to_its_successor)
{
	struct claim first = looked_up(ENDED), beside, next;

	now_ns += SECOND_NS;
	CHECK(claim_open(&first, 1, ENDED) == CLAIM_RETRY);
	now_ns += 11 * SECOND_NS;
	beside = looked_up(ENDED + 1024);
	now_ns += SECOND_NS;
	CHECK(claim_open(&beside, 2, ENDED + 1024) == CLAIM_RETRY);
	next = looked_up(ENDED);
	CHECK(!next.repeated);
}

TEST(claim_an_inode_that_is_kept_is_bound)
{
	struct claim claim = looked_up(THREAD);

	now_ns += SECOND_NS;
	CHECK(claim_open(&claim, 1, THREAD + 1) == CLAIM_RETRY);
	CHECK(claim_open(&claim, 1, THREAD + 1) == CLAIM_BOUND);
	CHECK(claim_open(&claim, 1, THREAD + 2) == CLAIM_BOUND);
	claim_release(&claim);
	claim_release(&claim);
}

TEST(claim_pages_of_a_direct_open_are_its_own)
{
	struct claim claim = looked_up(THREAD);

	CHECK(claim_open(&claim, 1, THREAD) == CLAIM_DIRECT);
	CHECK(claim_open(&claim, 1, THREAD + 1) == CLAIM_RETRY);
	CHECK(claim_open(&claim, 1, THREAD + 1) == CLAIM_BUSY);
	claim_release(&claim);
	CHECK(claim_open(&claim, 1, THREAD + 1) == CLAIM_RETRY);
	CHECK(claim_open(&claim, 1, THREAD + 1) == CLAIM_BOUND);
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	(void)argc;
	return unit_run("claim", argv + 1, nothing, nothing);
}
