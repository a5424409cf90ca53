// SPDX-License-Identifier: GPL-2.0
/*
 * A seat: where a process of a measurement runs, and how urgent it is.
 *
 * Clients and servers may have different seats: a real-time client with a server of nice 19, say,
 * shows what priority inheritance is worth.
 */
#include "bench/seat.h"

#include "bench/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void seat_cpus(struct seat *seat, const char *text)
{
	const char *at = text;

	CPU_ZERO(&seat->cpus);
	seat->bound = true;
	do {
		unsigned int first, last;
		int taken = 0;

		if (sscanf(at, "%u%n", &first, &taken) != 1)
			fail("not a list of CPUs: %s", text);
		at += taken;
		last = first;
		if (*at == '-' && sscanf(at, "-%u%n", &last, &taken) == 1)
			at += taken;
		if (last >= CPU_SETSIZE || first > last)
			fail("not a list of CPUs: %s", text);
		for (unsigned int cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, &seat->cpus);
	} while (*at++ == ',');
	if (at[-1])
		fail("not a list of CPUs: %s", text);
}

void seat_sched(struct seat *seat, const char *text)
{
	int taken = 0;

	seat->scheduled = true;
	seat->policy = SCHED_OTHER;
	if (sscanf(text, "other:%d%n", &seat->priority, &taken) == 1 && !text[taken] &&
	    seat->priority >= -20 && seat->priority <= 19)
		return;
	seat->policy = SCHED_FIFO;
	if (sscanf(text, "fifo:%d%n", &seat->priority, &taken) == 1 && !text[taken] &&
	    seat->priority >= 1 && seat->priority <= 99)
		return;
	fail("neither other:-20 to other:19 nor fifo:1 to fifo:99: %s", text);
}

void seat_take(const struct seat *seat)
{
	struct sched_param param = { .sched_priority = seat->priority };

	if (seat->bound && sched_setaffinity(0, sizeof(seat->cpus), &seat->cpus))
		fail_errno("cannot run on those CPUs");
	if (!seat->scheduled)
		return;
	if (seat->policy == SCHED_OTHER && setpriority(PRIO_PROCESS, 0, seat->priority))
		fail_errno("cannot be of nice value %d", seat->priority);
	if (seat->policy == SCHED_FIFO && sched_setscheduler(0, SCHED_FIFO, &param))
		fail_errno("cannot be of real-time priority %d", seat->priority);
}
