// SPDX-License-Identifier: GPL-2.0
/* The periods in which the ages of calls are counted. */
#include "session/expire.h"

#include "base/clock.h"

void expire_init(void)
{
	daemon_part(expire);
}

/* The period of a predecessor is known before the limit is. */
void expire_start(unsigned int timeout_s)
{
	struct expire *expire = daemon_self->expire;

	if (!timeout_s)
		return;
	expire->period_ns = timeout_s * 1000000000ull / EXPIRE_PERIODS;
	expire->next_ns = clock_now_ns() + expire->period_ns;
	if (!atomic_load(&expire->period))
		atomic_store(&expire->period, 1);
}

bool expire_advance(u64 now_ns)
{
	struct expire *expire = daemon_self->expire;

	if (now_ns < expire_next_ns())
		return false;
	expire->next_ns = now_ns + expire->period_ns;
	atomic_fetch_add(&expire->period, 1);
	return true;
}

u64 expire_next_ns(void)
{
	return daemon_self->expire->period_ns ? daemon_self->expire->next_ns : UINT64_MAX;
}
