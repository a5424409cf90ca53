// SPDX-License-Identifier: GPL-2.0
/*
 * On which CPUs and with which policy and priority a process of a measurement runs.
 *
 * Clients and servers may differ: a real-time client with a server of nice 19, for example, shows
 * the effect of priority inheritance.
 */
#include "bench/scheduling.h"

#include "bench/fail.h"

#include <stdio.h>
#include <sys/resource.h>

void scheduling_parse_cpus(struct scheduling *scheduling, const char *text)
{
	const char *at = text;
	unsigned int cpu;
	int taken;

	CPU_ZERO(&scheduling->cpus);
	scheduling->has_cpus = true;
	do {
		taken = 0;
		if (sscanf(at, "%u%n", &cpu, &taken) != 1 || cpu >= CPU_SETSIZE)
			fail("%s is not a list of CPUs; write it like 0,2,3", text);
		CPU_SET(cpu, &scheduling->cpus);
		at += taken;
	} while (*at++ == ',');
	if (at[-1])
		fail("%s is not a list of CPUs; write it like 0,2,3", text);
}

void scheduling_parse_policy(struct scheduling *scheduling, const char *text)
{
	int taken = 0;

	scheduling->has_policy = true;
	scheduling->policy = SCHED_OTHER;
	if (sscanf(text, "other:%d%n", &scheduling->priority, &taken) == 1 && !text[taken] &&
	    scheduling->priority >= -20 && scheduling->priority <= 19)
		return;
	scheduling->policy = SCHED_FIFO;
	if (sscanf(text, "fifo:%d%n", &scheduling->priority, &taken) == 1 && !text[taken] &&
	    scheduling->priority >= 1 && scheduling->priority <= 99)
		return;
	fail("%s is not a policy; write other:-20 to other:19 or fifo:1 to fifo:99", text);
}

void scheduling_apply(const struct scheduling *scheduling)
{
	struct sched_param param = { .sched_priority = scheduling->priority };

	if (scheduling->has_cpus &&
	    sched_setaffinity(0, sizeof(scheduling->cpus), &scheduling->cpus))
		fail_errno("cannot run on these CPUs");
	if (!scheduling->has_policy)
		return;
	if (scheduling->policy == SCHED_OTHER && setpriority(PRIO_PROCESS, 0, scheduling->priority))
		fail_errno("cannot set nice value %d", scheduling->priority);
	if (scheduling->policy == SCHED_FIFO && sched_setscheduler(0, SCHED_FIFO, &param))
		fail_errno("cannot set real-time priority %d", scheduling->priority);
}
