// SPDX-License-Identifier: GPL-2.0
/*
 * One mutex, of the first rank.  A call that would block returns to its home and so lets the mutex
 * go; it takes it again when it is resumed.  The home is told between which two moments it may keep
 * the holder on its CPU: from before the mutex is got until it is free again, so that nobody is
 * taken off its CPU with the mutex in hand.
 */
#include "regime.h"

static struct binder_mutex everything;
static enum binder_regime chosen;

static const char *const regime_names[REGIME_COUNT] = {
	[REGIME_FINE] = "fine",
	[REGIME_GLOBAL] = "global",
	[REGIME_GLOBAL_NOPREEMPT] = "global-nopreempt",
};

bool binder_regime_parse(const char *name, enum binder_regime *regime)
{
	size_t size = host_strlen(name) + 1;
	u32 i;

	for (i = 0; i < REGIME_COUNT; i++) {
		if (size != host_strlen(regime_names[i]) + 1 ||
		    host_memcmp(name, regime_names[i], size))
			continue;
		*regime = (enum binder_regime)i;
		return true;
	}
	return false;
}

const char *binder_regime_name(enum binder_regime regime)
{
	return regime_names[regime];
}

void binder_regime_choose(enum binder_regime regime)
{
	chosen = regime;
}

enum binder_regime binder_regime_chosen(void)
{
	return chosen;
}

void binder_regime_init(void)
{
	binder_mutex_init(&everything, RANK_REGIME);
}

void binder_regime_lock(void) NO_TSA
{
	host_stay_on_cpu();
	binder_mutex_lock(&everything);
}

void binder_regime_unlock(void) NO_TSA
{
	binder_mutex_unlock(&everything);
	host_may_leave_cpu();
}
