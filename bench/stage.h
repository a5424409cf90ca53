/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stage: the processes of one measurement, and what they tell each other.
 */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include "bench/histogram.h"
#include "bench/peer.h"

#include <stddef.h>

/* What all clients of a cell found, together. */
struct result {
	struct histogram histogram;
	struct histogram *clients;	/* the same of each client; the caller frees it */
	double seconds;		/* from the common start to the end of the very last call */
	double user_us, system_us;	/* CPU time of clients and servers per call */
};

/*
 * Runs @cell: helper, servers, clients, a warm-up and the measured calls. Sleeps as long
 * as that takes. Returns with no process left; ends this process if one of them failed or hung.
 */
void stage_run(const struct cell *cell, struct result *result);

/* Calls of each client before the measured ones. */
#define STAGE_WARM_UP_CALLS 50

/* Memory of @bytes that all processes of the measurement share, all zeroes; NULL never. */
void *stage_shared(size_t bytes);

/* Said by a helper or a server process: I am ready. */
void stage_up(void);

#endif
