/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cell of a comparison: one measurement, its processes and its figures.
 */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H

#include "bench/histogram.h"
#include "bench/scheduling.h"

#include <stdbool.h>
#include <stddef.h>

struct peer;

/* What is measured: which peer, how big, how many pairs, where. */
struct cell {
	const struct peer *peer;
	const char *address;	/* device file or bus address; NULL if the peer needs none */
	size_t request_bytes;
	size_t reply_bytes;
	int nr_pairs;
	struct scheduling clients, servers;
	const struct scheduling *each_client;	/* one per client, instead of @clients; or NULL */
	bool has_own_cpus;	/* client N runs on CPU 2 N, its server on the next one */
	int duration_ms;
	unsigned long nr_calls;	/* of each client, instead of a duration; 0: none */
	int delay_us;		/* pause of a client between two calls, not measured */
	int nr_measured;	/* only the durations of so many clients count, and only they
				 * pause: the others are load; 0: all clients */
};

/* The figures of all clients together. */
struct result {
	struct histogram histogram;	/* of the measured clients */
	uint64_t nr_calls;		/* of all */
	struct histogram *clients;	/* of each client; the caller frees it */
	double seconds;		/* from the common start to the end of the last call */
	double user_us, system_us;	/* CPU time of clients and servers per call */
};

/*
 * Runs @cell: helper, servers, clients, a warm-up and the measured calls. Sleeps until all calls
 * are made. No process is left when it returns; ends this process if one of them failed or hung.
 */
void cell_run(const struct cell *cell, struct result *result);

/* Calls of each client before the measured ones. */
#define CELL_WARM_UP_CALLS 50

/* Zeroed memory of @bytes that all processes of the measurement share; never NULL. */
void *cell_shared_memory(size_t bytes);

/* A helper or a server process calls this when it is ready. */
void cell_process_ready(void);

#endif
