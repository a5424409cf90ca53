/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A seat: where a process of a measurement runs, and how urgent it is.
 */
#ifndef BENCH_SEAT_H
#define BENCH_SEAT_H

#include <sched.h>
#include <stdbool.h>

/* All zeroes: anywhere, as the parent is scheduled. */
struct seat {
	bool bound;		/* to @cpus */
	bool scheduled;		/* by @policy */
	cpu_set_t cpus;
	int policy;		/* SCHED_OTHER or SCHED_FIFO */
	int priority;		/* nice value, or real-time priority */
	int rest_us;		/* a client's sleep between calls, outside the measured time */
};

/* CPUs as 0,2-3. Ends the process if the text is not such a list. */
void seat_cpus(struct seat *seat, const char *text);

/* A nice value as other:N, a real-time priority as fifo:N. Ends the process if it is neither. */
void seat_sched(struct seat *seat, const char *text);

/* Moves the calling process there. Ends it if it may not. */
void seat_take(const struct seat *seat);

#endif
