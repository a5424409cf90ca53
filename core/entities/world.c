// SPDX-License-Identifier: GPL-2.0
/*
 * One list of all opens, in the order in which they were made, and one of the nodes
 * whose owner is gone and that references keep alive. Both are walked by reports and
 * reclaim, so their lock is a mutex with priority inheritance.
 */
#include "entities/world.h"

#include "common/translog.h"

struct binder_world binder_world;

void binder_world_init(void)
{
	binder_pi_mutex_init(&binder_world.lock, RANK_WORLD);
	bl_init(&binder_world.procs);
	bl_init(&binder_world.dead_nodes);
	bl_init(&binder_world.contexts);
	binder_log_init();
}
