/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Anything that can stand in a todo list, and which return code it becomes.
 * Work is embedded in what it stands for (a transaction, a node, a death
 * registration); only completions are pieces of their own.
 */
#ifndef BINDER_WORK_H
#define BINDER_WORK_H

#include "base/list.h"

enum binder_work_type {
	WORK_TRANSACTION = 1,
	WORK_COMPLETE,		/* BR_TRANSACTION_COMPLETE */
	WORK_COMPLETE_FROZEN,	/* BR_TRANSACTION_PENDING_FROZEN */
	WORK_COMPLETE_SPAM,	/* BR_ONEWAY_SPAM_SUSPECT */
	WORK_ERROR,		/* struct binder_error: its own command */
	WORK_NODE,		/* BR_INCREFS .. BR_DECREFS as the node needs */
	WORK_DEATH,		/* BR_DEAD_BINDER */
	WORK_DEATH_AND_CLEAR,	/* the same, cleared before it was answered */
	WORK_DEATH_CLEARED,	/* BR_CLEAR_DEATH_NOTIFICATION_DONE */
	WORK_FREEZE,		/* BR_FROZEN_BINDER */
	WORK_FREEZE_CLEARED,	/* BR_CLEAR_FREEZE_NOTIFICATION_DONE */
	WORK_TYPES,
};

struct binder_work {
	struct bl_list link;
	u8 type;
};

static inline void binder_work_init(struct binder_work *work, enum binder_work_type type)
{
	bl_init(&work->link);
	work->type = type;
}

#endif
