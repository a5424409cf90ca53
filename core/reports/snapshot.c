// SPDX-License-Identifier: GPL-2.0
/*
 * Memory cannot be allocated under the lock of the world, and the number of processes is
 * only known under it: count them, allocate with some room to spare, and take the
 * references; if more processes than that were opened meanwhile, start again.
 *
 * Tested in: core/reports/report_test.c
 */
#include "reports/snapshot.h"

#include "things/proc.h"
#include "things/world.h"

#define SPARE 16

static u32 count_procs(void)
{
	struct bl_list *link;
	u32 nr = 0;

	binder_pi_mutex_lock(&binder_world.lock);
	for (link = binder_world.procs.next; link != &binder_world.procs; link = link->next)
		nr++;
	binder_pi_mutex_unlock(&binder_world.lock);
	return nr;
}

/* Returns false if there may be more than @room processes. */
static bool get_procs(struct binder_snapshot *snapshot, u32 room)
{
	struct bl_list *link;

	snapshot->nr = 0;
	binder_pi_mutex_lock(&binder_world.lock);
	for (link = binder_world.procs.prev; link != &binder_world.procs && snapshot->nr < room;
	     link = link->prev) {
		struct binder_proc *proc = bl_entry(link, struct binder_proc, world_link);

		binder_proc_get(proc);
		snapshot->procs[snapshot->nr++] = proc;
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	return snapshot->nr < room;
}

int binder_snapshot_take(struct binder_snapshot *snapshot)
{
	u32 room;

	for (;;) {
		room = count_procs() + SPARE;
		snapshot->nr = 0;
		snapshot->procs = host_alloc_large(NULL, room * sizeof(struct binder_proc *));
		if (!snapshot->procs)
			return -ENOMEM;
		if (get_procs(snapshot, room))
			return 0;
		binder_snapshot_drop(snapshot);
	}
}

void binder_snapshot_drop(struct binder_snapshot *snapshot)
{
	u32 i;

	for (i = 0; i < snapshot->nr; i++)
		binder_proc_put(snapshot->procs[i]);
	host_free(snapshot->procs);
}
