/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters. A process counts the commands that it writes, the returns that it reads, and
 * the transactions and completions that its calls create and delete, so that processes do
 * not write to a shared cache line in each call; when it ends, its counters are added to
 * those of the world. Other objects are counted in the world. The counters are atomics and
 * read without a lock: a report is not a consistent picture of one moment.
 */
#ifndef BINDER_STATS_H
#define BINDER_STATS_H

#include "common/abi.h"
#include "host.h"

#define BINDER_NR_COMMANDS 22 /* BC_* */
#define BINDER_NR_RETURNS  23 /* BR_* */

enum binder_stat { /* in the order of the report of the C driver */
	STAT_PROC,
	STAT_THREAD,
	STAT_NODE,
	STAT_REF,
	STAT_DEATH,
	STAT_TRANSACTION,
	STAT_COMPLETE,
	STAT_FREEZE,
	STAT_COUNT,
};

struct binder_stats {
	struct host_atomic bc[BINDER_NR_COMMANDS];
	struct host_atomic br[BINDER_NR_RETURNS];
	struct host_atomic created[STAT_COUNT];
	struct host_atomic deleted[STAT_COUNT];
};

/* Count and trace a command or return of a process; an unknown number is only traced. */
static inline void binder_stats_command(struct binder_stats *stats, u32 cmd)
{
	u32 nr = ABI_IOC_NR(cmd);

	host_trace_command(cmd);
	if (nr < BINDER_NR_COMMANDS)
		host_atomic_add(&stats->bc[nr], 1);
}

static inline void binder_stats_return(struct binder_stats *stats, u32 ret)
{
	u32 nr = ABI_IOC_NR(ret);

	host_trace_return(ret);
	if (nr < BINDER_NR_RETURNS)
		host_atomic_add(&stats->br[nr], 1);
}

/* The counters of the world: what no process counts, and the sums of dead processes. */
extern struct binder_stats binder_stats_world;

/* Count an object in the world. */
void binder_stats_created(enum binder_stat what);
void binder_stats_deleted(enum binder_stat what);
/* Count an object in the process of the calling thread. */
static inline void binder_stats_created_by(struct binder_stats *stats, enum binder_stat what)
{
	host_atomic_add(&stats->created[what], 1);
}

static inline void binder_stats_deleted_by(struct binder_stats *stats, enum binder_stat what)
{
	host_atomic_add(&stats->deleted[what], 1);
}

/* Adds @from to @to. */
void binder_stats_add(struct binder_stats *to, const struct binder_stats *from);

/* "BC_TRANSACTION", "BR_NOOP", ... by ABI_IOC_NR() of the code; NULL for unknown numbers. */
const char *binder_command_name(u32 nr);
const char *binder_return_name(u32 nr);

#endif
