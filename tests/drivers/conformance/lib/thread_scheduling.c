// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"
#include "thread_scheduling.h"

void sched_need(void)
{
	struct sched_param one = { 1 };

	if (setpriority(PRIO_PROCESS, 0, -1) || setpriority(PRIO_PROCESS, 0, 0) ||
	    sched_setscheduler(0, SCHED_FIFO, &one))
		test_skip("priorities may not be raised here");
	one.sched_priority = 0;
	if (sched_setscheduler(0, SCHED_OTHER, &one))
		FAIL("sched_setscheduler: %s", test_errno_name(errno));
}

void thread_scheduling(struct scheduling *found)
{
	struct sched_param param;

	found->policy = sched_getscheduler(0);
	found->nice = getpriority(PRIO_PROCESS, 0);
	EXPECT_EQ(sched_getparam(0, &param), 0);
	found->prio = param.sched_priority;
}

void thread_set_policy(int policy, int prio)
{
	struct sched_param param = { prio };

	EXPECT_EQ(sched_setscheduler(0, policy, &param), 0);
}

void thread_set_nice(int nice)
{
	EXPECT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);
}

void thread_drop_privileges(unsigned int rlimit_nice, unsigned int rlimit_rtprio)
{
	const struct rlimit nice = { rlimit_nice, rlimit_nice };
	const struct rlimit rtprio = { rlimit_rtprio, rlimit_rtprio };

	if (setrlimit(RLIMIT_NICE, &nice) || setrlimit(RLIMIT_RTPRIO, &rtprio))
		test_skip("limits may not be raised here");
	EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
}
