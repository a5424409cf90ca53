// SPDX-License-Identifier: GPL-2.0
/* The switches of measure.h. */
#include "measure.h"

bool measure_global_regime;
atomic_bool measure_stages;
atomic_bool measure_locks;

unsigned int measure_shard(void)
{
	static atomic_uint last;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}
