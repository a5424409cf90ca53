// SPDX-License-Identifier: GPL-2.0
/* More requests than the workers serve, from more than one user. */
#include "congestion.h"

/* Samples in a row that begin and end a congestion: now and then, requests wait in any case. */
#define BEGIN 2
#define END 10

struct congestion congestion = { .uid = CONGESTION_NONE };

void congestion_sample(bool waiting)
{
	static unsigned int nr_same;	/* samples in a row that speak for a change */
	bool on = congestion_is_on();
	bool now = waiting && atomic_load(&congestion.mixed);

	nr_same = now == on ? 0 : nr_same + 1;
	if (nr_same >= (on ? END : BEGIN)) {
		atomic_store(&congestion.is_on, now);
		nr_same = 0;
	}
	atomic_store(&congestion.uid, CONGESTION_NONE);
	atomic_store(&congestion.mixed, false);
}
