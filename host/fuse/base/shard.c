// SPDX-License-Identifier: GPL-2.0
/* Threads are numbered as they ask for the first time. */
#include "base/shard.h"

#include <stdatomic.h>

unsigned int shard_number(void)
{
	static atomic_uint last;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}
