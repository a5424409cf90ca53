/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sum of all counters. core.h declares the reports.
 */
#ifndef BINDER_REPORT_STATS_H
#define BINDER_REPORT_STATS_H

#include "common/stats.h"

/*
 * Stores in *@sum the counters of the world and of all processes. Takes the lock of the
 * world; may sleep.
 */
void binder_stats_add_up(struct binder_stats *sum);

#endif
