// SPDX-License-Identifier: GPL-2.0
/*
 * Messages name BR_DEAD_REPLY, not 0x7205. One table serves both directions, as the numbers of the
 * two protocols do not collide.
 */
#include <stddef.h>
#include <stdio.h>

#include "core/common/abi_list.h"
#include "names.h"
#include "tests/lib/uapi.h"

#define NAME(code) { (uint32_t)(code), #code },

static const struct {
	uint32_t cmd;
	const char *name;
} names[] = {
	BINDER_RETURNS(NAME)
	BINDER_COMMANDS(NAME)
	NAME(BR_TRANSACTION_SEC_CTX)
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
