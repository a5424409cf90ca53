// SPDX-License-Identifier: GPL-2.0
/* More requests than the workers serve, from more than one user. */
#include "queues/congestion.h"

#include <time.h>

/*
 * A congestion begins when requests wait for some ms, and ends when none wait at some samples in a
 * row: now and then, requests wait in any case.
 */
#define BEGIN_MS 3
#define END_SAMPLES 10

/* Samples for which several users count as active: their requests may be those that wait. */
#define ACTIVE_SAMPLES 50

struct congestion congestion = { .uid = CONGESTION_NONE };

/* Do requests wait, and still do after some time? */
static bool keep_waiting(bool (*waiting)(void))
{
	const struct timespec ms = { 0, 1000000 };

	for (unsigned int i = 0; i < BEGIN_MS; i++) {
		if (!waiting())
			return false;
		nanosleep(&ms, NULL);
	}
	return waiting();
}

void congestion_sample(bool (*waiting)(void))
{
	static unsigned int nr_clear;	/* samples in a row without it */
	static unsigned int active;	/* samples until the others count as gone */
	bool on = congestion_is_on();
	bool now;

	if (atomic_load(&congestion.mixed))
		active = ACTIVE_SAMPLES;
	else if (active)
		active--;
	now = active && (on ? waiting() : keep_waiting(waiting));
	nr_clear = now ? 0 : nr_clear + 1;
	atomic_store(&congestion.is_on, now || (on && nr_clear < END_SAMPLES));
	atomic_store(&congestion.uid, CONGESTION_NONE);
	atomic_store(&congestion.mixed, false);
}
