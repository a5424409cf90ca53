// SPDX-License-Identifier: GPL-2.0
/* Calls that may not wait for long. */
#include "session/expire.h"

#include "base/thread.h"

#include <time.h>

atomic_uint expire_period;

static unsigned int period_ms;
static void (*handler)(void);

static void expire_main(void *arg)
{
	struct timespec period = { period_ms / 1000, period_ms % 1000 * 1000000 };

	for (;;) {
		nanosleep(&period, NULL);
		atomic_fetch_add(&expire_period, 1);
		handler();
	}
}

bool expire_start(unsigned int timeout_s, void (*end_calls)(void))
{
	period_ms = timeout_s * 1000 / EXPIRE_PERIODS;
	handler = end_calls;
	atomic_store(&expire_period, 1);
	return !thread_start(expire_main, NULL);
}
