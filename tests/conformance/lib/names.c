// SPDX-License-Identifier: GPL-2.0
/*
 * Messages name BR_DEAD_REPLY, not 0x7205. One table serves both directions, as the numbers of the
 * two protocols do not collide.
 */
#include <stddef.h>
#include <stdio.h>

#include "names.h"
#include "uapi.h"

#define NAME(x) { (uint32_t)(x), #x }

static const struct {
	uint32_t cmd;
	const char *name;
} names[] = {
	NAME(BR_ERROR),
	NAME(BR_OK),
	NAME(BR_TRANSACTION_SEC_CTX),
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
	{ BR_TRANSACTION_PENDING_FROZEN, "BR_TRANSACTION_PENDING_FROZEN" },
	{ BR_FROZEN_BINDER, "BR_FROZEN_BINDER" },
	{ BR_CLEAR_FREEZE_NOTIFICATION_DONE, "BR_CLEAR_FREEZE_NOTIFICATION_DONE" },
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
	{ BC_REQUEST_FREEZE_NOTIFICATION, "BC_REQUEST_FREEZE_NOTIFICATION" },
	{ BC_CLEAR_FREEZE_NOTIFICATION, "BC_CLEAR_FREEZE_NOTIFICATION" },
	{ BC_FREEZE_NOTIFICATION_DONE, "BC_FREEZE_NOTIFICATION_DONE" },
};

const char *command_name(uint32_t cmd)
{
	static char unknown[8][16];
	static unsigned int turn;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].cmd == cmd)
			return names[i].name;
	}
	turn = (turn + 1) % 8;
	snprintf(unknown[turn], sizeof(unknown[turn]), "0x%x", cmd);
	return unknown[turn];
}
