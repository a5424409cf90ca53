/* SPDX-License-Identifier: GPL-2.0 */
/* report stats: the counters of the world and of processes. */
#ifndef BINDER_REPORT_STATS_H
#define BINDER_REPORT_STATS_H

#include "common/stats.h"

struct binder_proc;

/* Adds up the counters of all processes, also of those that ended. May sleep; no lock held. */
void binder_stats_add_up(struct binder_stats *sum);

/* Prints that, and the counters of one process. May sleep; no lock held. */
void binder_report_stats_of_world(struct host_out *out);
void binder_report_stats_of(struct host_out *out, struct binder_proc *proc);

#endif
