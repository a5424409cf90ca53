// SPDX-License-Identifier: GPL-2.0
/*
 * Memory pressure: idle pages of all processes are returned to the system. The caller may be
 * inside a call of its own, so every lock is only tried.
 */
#include "core.h"

#include "common/cover.h"
#include "entities/proc.h"
#include "entities/world.h"

size_t binder_shrink_some(size_t max, bool (*wanted)(const struct host_proc *proc, void *arg),
			  void *arg)
{
	struct binder_proc *proc;
	size_t nr = 0;

	if (!binder_pi_mutex_trylock(&binder_world.lock)) {
		BINDER_COVER(SHRINK_WORLD_BUSY);
		return 0;
	}
	bl_for_each(proc, &binder_world.procs, world_link) {
		if (nr < max && (!wanted || wanted(&proc->host, arg)))
			nr += binder_alloc_shrink(&proc->alloc, max - nr);
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	return nr;
}

size_t binder_shrink(size_t max)
{
	return binder_shrink_some(max, NULL, NULL);
}

size_t binder_idle_pages(void)
{
	struct binder_alloc_stats stats;
	struct binder_proc *proc;
	size_t nr = 0;

	if (!binder_pi_mutex_trylock(&binder_world.lock))
		return 0;
	bl_for_each(proc, &binder_world.procs, world_link) {
		binder_alloc_get_stats(&proc->alloc, &stats);
		nr += stats.pages_lru;
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	return nr;
}
