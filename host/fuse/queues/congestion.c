// SPDX-License-Identifier: GPL-2.0
/* More requests than the workers serve, from more than one user. */
#include "queues/congestion.h"

#include "session/session.h"

#include <unistd.h>

/*
 * A congestion begins when requests wait for some ms, and ends when none wait at some samples in a
 * row: now and then, requests wait in any case.
 */
#define BEGIN_MS 3
#define END_SAMPLES 10

/* Samples for which several users count as active: their requests may be those that wait. */
#define ACTIVE_SAMPLES 50

void congestion_init(void)
{
	atomic_store(&daemon_part(congestion)->uid, CONGESTION_NONE);
}

/* Do requests wait, and still do after some time? */
static bool keep_waiting(void)
{
	for (unsigned int i = 0; i < BEGIN_MS; i++) {
		if (!session_has_request())
			return false;
		usleep(1000);
	}
	return session_has_request();
}

void congestion_sample(void)
{
	struct congestion *self = daemon_self->congestion;
	bool on = congestion_is_on();
	bool now;

	if (atomic_load(&self->mixed))
		self->active = ACTIVE_SAMPLES;
	else if (self->active)
		self->active--;
	now = self->active && (on ? session_has_request() : keep_waiting());
	self->nr_clear = now ? 0 : self->nr_clear + 1;
	atomic_store(&self->is_on, now || (on && self->nr_clear < END_SAMPLES));
	atomic_store(&self->uid, CONGESTION_NONE);
	atomic_store(&self->mixed, false);
}
