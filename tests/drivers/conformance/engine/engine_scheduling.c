// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduling of a thread on the test host is a number, which the engine reads and sets. As in
 * the kernel, a real-time policy leaves the nice value as it was.
 */
#include "engine_process.h"
#include "test.h"
#include "thread_scheduling.h"

static _Thread_local int last_nice;

static bool is_realtime(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

void sched_need(void)
{
}

void thread_scheduling(struct scheduling *found)
{
	const struct host_priority *has = &engine_self->priority;

	if (!is_realtime(has->policy))
		last_nice = has->prio;
	found->policy = has->policy;
	found->nice = last_nice;
	found->prio = is_realtime(has->policy) ? has->prio : 0;
}

void thread_set_policy(int policy, int prio)
{
	struct scheduling before;

	thread_scheduling(&before);
	engine_self->priority = (struct host_priority){
		.policy = (u8)policy,
		.prio = (s8)(is_realtime(policy) ? prio : before.nice),
	};
}

void thread_set_nice(int nice)
{
	last_nice = nice;
	if (!is_realtime(engine_self->priority.policy))
		engine_self->priority.prio = (s8)nice;
}

void thread_drop_privileges(unsigned int rlimit_nice, unsigned int rlimit_rtprio)
{
	(void)rlimit_nice;
	(void)rlimit_rtprio;
	test_skip("processes of the test host have no limits");
}
