// SPDX-License-Identifier: GPL-2.0
/*
 * A page that a freed buffer leaves behind stays, so that the next buffer finds it; the engine
 * keeps these in order of age. When memory is short the kernel asks how many there are and for
 * some of them. Whoever asks may hold locks of its own, so nothing here waits: what cannot be had
 * at once is not had.
 */
#include "reclaim.h"

#include "compat/compat.h"
#include "core.h"

#include <linux/shrinker.h>

static unsigned long count(struct shrinker *shrinker, struct shrink_control *control)
{
	return binder_idle_pages() ?: SHRINK_EMPTY;
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *control)
{
	return binder_shrink(control->nr_to_scan) ?: SHRINK_STOP;
}

static struct shrinker *shrinker;

int reclaim_init(void)
{
	shrinker = compat_shrinker_start("android-binder", count, scan);
	return shrinker ? 0 : -ENOMEM;
}

void reclaim_exit(void)
{
	compat_shrinker_stop(shrinker);
}
