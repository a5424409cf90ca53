// SPDX-License-Identifier: GPL-2.0
/*
 * The engine keeps the pages of freed buffers for later buffers, on an LRU list. The shrinker
 * reclaims them. As it may be called with other locks held, the engine only tries its locks. To
 * unmap a page, unmap_mapping_range() takes the i_mmap_rwsem of the open's own address space and
 * locks of its page tables, which reclaim may wait for: nothing is allocated under them (see
 * dma_resv_lockdep() in the kernel, where shrinkers of graphics drivers depend on the same).
 */
#include "reclaim.h"

#include "compat/compat.h"
#include "core.h"

#include <linux/shrinker.h>

static unsigned long reclaim_count(struct shrinker *shrinker, struct shrink_control *control)
{
	return binder_idle_pages() ?: SHRINK_EMPTY;
}

static unsigned long reclaim_scan(struct shrinker *shrinker, struct shrink_control *control)
{
	return binder_shrink(control->nr_to_scan) ?: SHRINK_STOP;
}

static struct shrinker *shrinker;

int reclaim_init(void)
{
	shrinker = compat_shrinker_start("android-binder", reclaim_count, reclaim_scan);
	return shrinker ? 0 : -ENOMEM;
}

void reclaim_exit(void)
{
	compat_shrinker_stop(shrinker);
}
