// SPDX-License-Identifier: GPL-2.0
/*
 * The index of a counter and of its name is ABI_IOC_NR() of the command or return.
 *
 * Tested in: core/reports/report_test.c
 */
#include "common/stats.h"

struct binder_stats binder_stats_world;

#define NAME(code) [ABI_IOC_NR(code)] = #code

static const char *const command_names[BINDER_NR_COMMANDS] = {
	NAME(BC_TRANSACTION),
	NAME(BC_REPLY),
	NAME(BC_ACQUIRE_RESULT),
	NAME(BC_FREE_BUFFER),
	NAME(BC_INCREFS),
	NAME(BC_ACQUIRE),
	NAME(BC_RELEASE),
	NAME(BC_DECREFS),
	NAME(BC_INCREFS_DONE),
	NAME(BC_ACQUIRE_DONE),
	NAME(BC_ATTEMPT_ACQUIRE),
	NAME(BC_REGISTER_LOOPER),
	NAME(BC_ENTER_LOOPER),
	NAME(BC_EXIT_LOOPER),
	NAME(BC_REQUEST_DEATH_NOTIFICATION),
	NAME(BC_CLEAR_DEATH_NOTIFICATION),
	NAME(BC_DEAD_BINDER_DONE),
	NAME(BC_TRANSACTION_SG),
	NAME(BC_REPLY_SG),
	NAME(BC_REQUEST_FREEZE_NOTIFICATION),
	NAME(BC_CLEAR_FREEZE_NOTIFICATION),
	NAME(BC_FREEZE_NOTIFICATION_DONE),
};

static const char *const return_names[BINDER_NR_RETURNS] = {
	NAME(BR_ERROR),
	NAME(BR_OK),
	NAME(BR_TRANSACTION),
	NAME(BR_REPLY),
	NAME(BR_ACQUIRE_RESULT),
	NAME(BR_DEAD_REPLY),
	NAME(BR_TRANSACTION_COMPLETE),
	NAME(BR_INCREFS),
	NAME(BR_ACQUIRE),
	NAME(BR_RELEASE),
	NAME(BR_DECREFS),
	NAME(BR_ATTEMPT_ACQUIRE),
	NAME(BR_NOOP),
	NAME(BR_SPAWN_LOOPER),
	NAME(BR_FINISHED),
	NAME(BR_DEAD_BINDER),
	NAME(BR_CLEAR_DEATH_NOTIFICATION_DONE),
	NAME(BR_FAILED_REPLY),
	NAME(BR_FROZEN_REPLY),
	NAME(BR_ONEWAY_SPAM_SUSPECT),
	NAME(BR_TRANSACTION_PENDING_FROZEN),
	NAME(BR_FROZEN_BINDER),
	NAME(BR_CLEAR_FREEZE_NOTIFICATION_DONE),
};

const char *binder_command_name(u32 nr)
{
	return nr < BINDER_NR_COMMANDS ? command_names[nr] : NULL;
}

const char *binder_return_name(u32 nr)
{
	return nr < BINDER_NR_RETURNS ? return_names[nr] : NULL;
}

void binder_stats_created(enum binder_stat what)
{
	binder_stats_created_by(&binder_stats_world, what);
}

void binder_stats_deleted(enum binder_stat what)
{
	binder_stats_deleted_by(&binder_stats_world, what);
}

static void add_all(struct host_atomic *to, const struct host_atomic *from, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		host_atomic_add(&to[i], host_atomic_read(&from[i]));
}

void binder_stats_add(struct binder_stats *to, const struct binder_stats *from)
{
	add_all(to->bc, from->bc, BINDER_NR_COMMANDS);
	add_all(to->br, from->br, BINDER_NR_RETURNS);
	add_all(to->created, from->created, STAT_COUNT);
	add_all(to->deleted, from->deleted, STAT_COUNT);
}
