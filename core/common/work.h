/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work: an entry of a todo list, and the return code that it is delivered as. It is a
 * member of the transaction, node, error or notice that it stands for; completions are
 * allocated on their own.
 */
#ifndef BINDER_WORK_H
#define BINDER_WORK_H

#include "base/list.h"

enum binder_work_type {
	WORK_TRANSACTION = 1,
	WORK_COMPLETE,		/* BR_TRANSACTION_COMPLETE */
	WORK_COMPLETE_FROZEN,	/* BR_TRANSACTION_PENDING_FROZEN */
	WORK_COMPLETE_SPAM,	/* BR_ONEWAY_SPAM_SUSPECT */
	WORK_ERROR,		/* the code in struct binder_error */
	WORK_NODE,		/* BR_INCREFS .. BR_DECREFS, as the node needs */
	WORK_DEATH,		/* BR_DEAD_BINDER */
	WORK_DEATH_AND_CLEAR,	/* the same, cleared before it was acknowledged */
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
