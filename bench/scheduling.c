// SPDX-License-Identifier: GPL-2.0
/*
 * With which policy and priority a process of a measurement runs.
 *
 * Clients and servers may differ: a real-time client with a server of nice 19, for example, shows
 * the effect of priority inheritance.
 */
#include "bench/scheduling.h"

#include "bench/fail.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

struct scheduling scheduling_parse(const char *text)
{
	struct scheduling parsed = { .has_policy = true, .policy = SCHED_OTHER };
	int *priority = &parsed.priority, taken = 0;

	if (sscanf(text, "other:%d%n", priority, &taken) == 1 && !text[taken])
		return parsed;
	parsed.policy = SCHED_FIFO;
	if (sscanf(text, "fifo:%d%n", priority, &taken) == 1 && !text[taken])
		return parsed;
	fail("%s is not a policy; write other:-20 to other:19 or fifo:1 to fifo:99", text);
}

void scheduling_apply(const struct scheduling *scheduling)
{
	struct sched_param param = { .sched_priority = scheduling->priority };

	if (!scheduling->has_policy)
		return;
	if (scheduling->policy == SCHED_OTHER && setpriority(PRIO_PROCESS, 0, scheduling->priority))
		fail_errno("cannot set nice value %d", scheduling->priority);
	if (scheduling->policy == SCHED_FIFO && sched_setscheduler(0, SCHED_FIFO, &param))
		fail_errno("cannot set real-time priority %d", scheduling->priority);
}
