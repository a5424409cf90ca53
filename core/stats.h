/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: of commands and returns by number, and of things made and
 * destroyed, of the whole world and of each process.  Atomics, read without a
 * lock, so a report is a moment's impression.
 */
#ifndef BINDER_STATS_H
#define BINDER_STATS_H

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

struct binder_proc;

/* Counted for the world, and for @proc if it is not NULL; and traced. */
void binder_stats_command(struct binder_proc *proc, u32 cmd);
void binder_stats_return(struct binder_proc *proc, u32 ret);
void binder_stats_created(enum binder_stat what);
void binder_stats_deleted(enum binder_stat what);

/* "BC_TRANSACTION", "BR_NOOP", ...; NULL for numbers that mean nothing.  The
 * same tables drive the parser, the reports and the tests. */
const char *binder_command_name(u32 nr);
const char *binder_return_name(u32 nr);

#endif
