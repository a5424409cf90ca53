// SPDX-License-Identifier: GPL-2.0
/*
 * The mutex belongs to the host, which may also keep its owner on its CPU. It has
 * the first rank: a call that would block returns to the host, so it leaves the mutex,
 * and enters it again when it is resumed.
 */
#include "common/locking_mode.h"

#include "common/contention.h"
#include "common/lock.h"

static enum binder_locking_mode chosen;

static const char *const mode_names[LOCKING_COUNT] = {
	[LOCKING_FINE] = "fine",
	[LOCKING_GLOBAL] = "global",
	[LOCKING_GLOBAL_NOPREEMPT] = "global-nopreempt",
};

bool binder_locking_mode_parse(const char *name, enum binder_locking_mode *mode)
{
	size_t size = host_strlen(name) + 1;
	u32 i;

	for (i = 0; i < LOCKING_COUNT; i++) {
		if (size != host_strlen(mode_names[i]) + 1 ||
		    host_memcmp(name, mode_names[i], size))
			continue;
		*mode = (enum binder_locking_mode)i;
		return true;
	}
	return false;
}

const char *binder_locking_mode_name(enum binder_locking_mode mode)
{
	return mode_names[mode];
}

void binder_locking_mode_choose(enum binder_locking_mode mode)
{
	chosen = mode;
}

enum binder_locking_mode binder_locking_mode_chosen(void)
{
	return chosen;
}

void binder_global_lock(void)
{
	bool waited = false;

	binder_rank_take(RANK_GLOBAL);
	if (host_is_counting_locks()) {
		waited = !host_global_trylock();
		binder_contention_count(RANK_GLOBAL, waited);
		if (!waited)
			return;
	}
	host_global_lock();
}

void binder_global_unlock(void)
{
	binder_rank_drop(RANK_GLOBAL);
	host_global_unlock();
}
