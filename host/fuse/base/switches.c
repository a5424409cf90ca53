// SPDX-License-Identifier: GPL-2.0
/* Switches of the measurements. */
#include "base/switches.h"

bool switch_locking_global;
pthread_mutex_t switch_global_lock = PTHREAD_MUTEX_INITIALIZER;
atomic_bool switch_count_locks;

unsigned int switch_shard(void)
{
	static atomic_uint last;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}
