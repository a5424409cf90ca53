// SPDX-License-Identifier: GPL-2.0
/*
 * Counting is one atomic addition for the world and one for the process.  The
 * index is the number inside the command's or return's code, so the tables of
 * names below say, by their designators, which number is which.
 */
#include "stats.h"

#include "abi.h"
#include "context.h"
#include "proc.h"

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

static void count(struct host_atomic *all, struct host_atomic *one)
{
	host_atomic_add_return(all, 1);
	if (one)
		host_atomic_add_return(one, 1);
}

void binder_stats_command(struct binder_proc *proc, u32 cmd)
{
	u32 nr = ABI_IOC_NR(cmd);

	host_trace_command(cmd);
	if (nr < BINDER_NR_COMMANDS)
		count(&binder_world.stats.bc[nr], proc ? &proc->stats.bc[nr] : NULL);
}

void binder_stats_return(struct binder_proc *proc, u32 ret)
{
	u32 nr = ABI_IOC_NR(ret);

	host_trace_return(ret);
	if (nr < BINDER_NR_RETURNS)
		count(&binder_world.stats.br[nr], proc ? &proc->stats.br[nr] : NULL);
}

void binder_stats_created(enum binder_stat what)
{
	count(&binder_world.stats.created[what], NULL);
}

void binder_stats_deleted(enum binder_stat what)
{
	count(&binder_world.stats.deleted[what], NULL);
}
