/* SPDX-License-Identifier: GPL-2.0 */
/*
 * audit: compares the driver's own counts (binder_logs, or the C driver's debugfs) with ours.
 */
#ifndef STORM_AUDIT_H
#define STORM_AUDIT_H

#include <stdint.h>

#include "storm.h"

/* The directory of state and stats. */
void audit_begin(const char *logs_dir);

/* How many things of each kind there are, by the names in the driver's report. */
struct population {
	long proc, thread, node, ref, death, transaction, complete;
	long reported_procs, dead_nodes; /* lines of state */
};

struct population audit_population(void);

/*
 * Waits until the population is this (a dead process is cleaned up asynchronously); if it does not
 * become so, the test fails and prints what is left.
 */
void audit_expect(struct population want, const char *when);

/*
 * An idle process: it has no handle, buffer or page, and the driver has counted each of its
 * commands and returns as often as the process itself.
 */
void audit_member(const struct member *member);

#endif
