/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_world: the contexts, and what exists in all of them: processes, and nodes that outlived
 * theirs.
 */
#ifndef BINDER_WORLD_H
#define BINDER_WORLD_H

#include "base/list.h"
#include "common/lock.h"

struct binder_world {
	struct binder_pi_mutex lock;
	struct bl_list procs GUARDED_BY(&lock);	     /* binder_proc.world_link */
	u64 last_serial GUARDED_BY(&lock);	     /* the newest process has it */
	struct bl_list dead_nodes GUARDED_BY(&lock); /* binder_node.dead_link */
	struct bl_list contexts GUARDED_BY(&lock);   /* binder_context.world_link */
	struct host_atomic last_id;
};

/* A thread takes so many ids at once for what it sends (binder_thread_next_id()). */
#define BINDER_ID_BLOCK 32

extern struct binder_world binder_world;

/* See core.h. */
void binder_world_init(void);

/* The first of BINDER_ID_BLOCK debug ids, one of which may be 0. */
static inline u32 binder_take_ids(void)
{
	return (u32)host_atomic_add_return(&binder_world.last_id, BINDER_ID_BLOCK) -
	       BINDER_ID_BLOCK + 1;
}

/* A debug id for a node or a reference. Never 0. */
static inline u32 binder_next_id(void)
{
	u32 id;

	do {
		id = (u32)host_atomic_add_return(&binder_world.last_id, 1);
	} while (!id);
	return id;
}

#endif
