/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine seen from outside: the text of binder_logs/ (debugfs on stock
 * kernels without binderfs), in the stock driver's layout, so that existing
 * tools can read it.  All may sleep; no lock held.
 *
 * report.c	   processes: threads, objects, handles, buffers, work
 * report_stats.c  counters
 * translog.c	   the two transaction logs (translog.h)
 */
#ifndef BINDER_REPORT_H
#define BINDER_REPORT_H

#include "host.h"
#include "common/translog.h"

/* All processes and dead nodes; counters; what is under way. */
void binder_report_state(struct host_out *out);
void binder_report_stats(struct host_out *out);
void binder_report_transactions(struct host_out *out);
/* All opens of the process @pid. */
void binder_report_proc(struct host_out *out, s32 pid);
/* Calls @fn for each process number that has a device open (once each). */
void binder_report_pids(void (*fn)(void *arg, s32 pid), void *arg);

#endif
