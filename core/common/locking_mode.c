// SPDX-License-Identifier: GPL-2.0
/*
 * One mutex, of the first rank.  A call that would block returns to its home and so lets the mutex
 * go; it takes it again when it is resumed.  The home is told between which two moments it may keep
 * the holder on its CPU: from before the mutex is got until it is free again, so that nobody is
 * taken off its CPU with the mutex in hand.
 */
#include "common/locking_mode.h"

static struct binder_mutex everything;
static enum binder_locking_mode chosen;

static const char *const regime_names[LOCKING_COUNT] = {
	[LOCKING_FINE] = "fine",
	[LOCKING_GLOBAL] = "global",
	[LOCKING_GLOBAL_NOPREEMPT] = "global-nopreempt",
};

bool binder_locking_mode_parse(const char *name, enum binder_locking_mode *regime)
{
	size_t size = host_strlen(name) + 1;
	u32 i;

	for (i = 0; i < LOCKING_COUNT; i++) {
		if (size != host_strlen(regime_names[i]) + 1 ||
		    host_memcmp(name, regime_names[i], size))
			continue;
		*regime = (enum binder_locking_mode)i;
		return true;
	}
	return false;
}

const char *binder_locking_mode_name(enum binder_locking_mode regime)
{
	return regime_names[regime];
}

void binder_locking_mode_choose(enum binder_locking_mode regime)
{
	chosen = regime;
}

enum binder_locking_mode binder_locking_mode_chosen(void)
{
	return chosen;
}

void binder_locking_mode_init(void)
{
	binder_mutex_init(&everything, RANK_GLOBAL);
}

void binder_locking_mode_lock(void) NO_TSA
{
	host_stay_on_cpu();
	binder_mutex_lock(&everything);
}

void binder_locking_mode_unlock(void) NO_TSA
{
	binder_mutex_unlock(&everything);
	host_may_leave_cpu();
}
