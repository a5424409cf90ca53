/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On which CPUs and with which policy and priority a process of a measurement runs.
 */
#ifndef BENCH_SCHEDULING_H
#define BENCH_SCHEDULING_H

#include <sched.h>
#include <stdbool.h>

/* All zeroes: as the parent. */
struct scheduling {
	bool has_cpus;
	bool has_policy;
	cpu_set_t cpus;
	int policy;		/* SCHED_OTHER or SCHED_FIFO */
	int priority;		/* nice value, or real-time priority */
};

/* Parses a list of CPUs such as 0,2,3. Ends the process if @text is not one. */
void scheduling_parse_cpus(struct scheduling *scheduling, const char *text);

/* Parses other:NICE or fifo:PRIORITY. Ends the process if @text is neither. */
void scheduling_parse_policy(struct scheduling *scheduling, const char *text);

/* Applies @scheduling to the calling process. Ends it if that is not permitted. */
void scheduling_apply(const struct scheduling *scheduling);

#endif
