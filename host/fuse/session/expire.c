// SPDX-License-Identifier: GPL-2.0
/* Calls that may not wait for long. */
#include "session/expire.h"

#include "base/gate.h"
#include "base/thread.h"

#include <time.h>

void expire_init(void)
{
	daemon_part(expire);
}

static void expire_main(void *arg)
{
	struct expire *expire = arg;
	struct timespec period = { expire->period_ms / 1000, expire->period_ms % 1000 * 1000000 };

	for (;;) {
		gate_away();
		nanosleep(&period, NULL);
		gate_back();
		atomic_fetch_add(&expire->period, 1);
		expire->end_calls();
	}
}

bool expire_start(unsigned int timeout_s, void (*end_calls)(void))
{
	daemon_self->expire->period_ms = timeout_s * 1000 / EXPIRE_PERIODS;
	daemon_self->expire->end_calls = end_calls;
	atomic_store(&daemon_self->expire->period, 1);
	return !thread_start(expire_main, daemon_self->expire);
}
