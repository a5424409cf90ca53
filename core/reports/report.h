/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports: the text of binder_logs/ (debugfs on stock kernels without binderfs), in the
 * layout of the stock driver, so that existing tools can read it. All functions may sleep
 * and are called without locks.
 *
 * report.c	   processes: threads, objects, handles, buffers, work
 * report_stats.c  counters
 * translog.c	   the two transaction logs (common/translog.h)
 */
#ifndef BINDER_REPORT_H
#define BINDER_REPORT_H

#include "common/stats.h"

/* All processes and dead nodes; counters; all processes, without what is idle. */
void binder_report_state(struct host_out *out);
void binder_report_stats(struct host_out *out);
void binder_report_transactions(struct host_out *out);
void binder_report_proc(struct host_out *out, s32 pid);
/* Calls @fn once for each pid that has a device open. */
void binder_report_pids(void (*fn)(void *arg, s32 pid), void *arg);

/* The counters of all processes, including those that ended. May sleep; no lock held. */
void binder_stats_add_up(struct binder_stats *sum);

#endif
