/* SPDX-License-Identifier: GPL-2.0 */
/*
 * With which policy and priority a process of a measurement runs.
 */
#ifndef BENCH_SCHEDULING_H
#define BENCH_SCHEDULING_H

#include <stdbool.h>

/* All zeroes: as the parent. */
struct scheduling {
	bool has_policy;
	int policy;		/* SCHED_OTHER or SCHED_FIFO */
	int priority;		/* nice value, or real-time priority */
};

/* Parses other:NICE or fifo:PRIORITY. Ends the process if @text is neither. */
struct scheduling scheduling_parse(const char *text);

/* Applies @scheduling to the calling process. Ends it if that is not permitted. */
void scheduling_apply(const struct scheduling *scheduling);

#endif
