/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters.  Commands and returns are counted by the process that sends or reads
 * them, by number, and transactions and completions by the process whose call makes or
 * destroys them; what a process has counted is added to the world's when it ends,
 * so that no two processes write to one place for each call.  Other things made and
 * destroyed are counted for the world.  Atomics, read without a lock, so a report
 * is a moment's impression.
 */
#ifndef BINDER_STATS_H
#define BINDER_STATS_H

#include "common/abi.h"
#include "host.h"

#define BINDER_NR_COMMANDS 22 /* BC_* */
#define BINDER_NR_RETURNS  23 /* BR_* */

enum binder_stat { /* in the order of the stock report */
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

/* Counted and traced; numbers that mean nothing are only traced. */
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

/* For the world. */
void binder_stats_created(enum binder_stat what);
void binder_stats_deleted(enum binder_stat what);
/* By a process, in a call of its own: what each call makes and destroys. */
static inline void binder_stats_created_by(struct binder_stats *stats, enum binder_stat what)
{
	host_atomic_add(&stats->created[what], 1);
}

static inline void binder_stats_deleted_by(struct binder_stats *stats, enum binder_stat what)
{
	host_atomic_add(&stats->deleted[what], 1);
}

/* What all have counted: those that ended and those that are there.  May sleep. */
void binder_stats_add_up(struct binder_stats *sum);
/* Adds what @from has counted to @to. */
void binder_stats_add(struct binder_stats *to, const struct binder_stats *from);

/* "BC_TRANSACTION", "BR_NOOP", ...; NULL for numbers that mean nothing.  The
 * same tables drive the parser, the reports and the tests. */
const char *binder_command_name(u32 nr);
const char *binder_return_name(u32 nr);

#endif
