/* SPDX-License-Identifier: GPL-2.0 */
/* audit: the driver's own books (binder_logs, or the stock driver's debugfs), held against ours. */
#ifndef STORM_AUDIT_H
#define STORM_AUDIT_H

#include <stdint.h>

#include "storm.h"

/* Where state and stats are. */
void audit_begin(const char *logs_dir);

/* How many there are of what, by the names of the driver's report. */
struct population {
	long proc, thread, node, ref, death, transaction, complete;
	long reported_procs, dead_nodes; /* lines of the state */
};

struct population audit_population(void);

/*
 * Waits until the population is this (what a death leaves is cleaned up behind it, in its own
 * time); the test fails with what is left when that does not come.
 */
void audit_expect(struct population want, const char *when);

/*
 * A process at rest: it holds no handle, buffer or page, and each of its commands and returns has
 * been counted by the driver as often as by itself.
 */
void audit_member(const struct member *member);

#endif
