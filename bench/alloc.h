/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocator contention: clients of several priorities send calls of mixed sizes to one server.
 */
#ifndef BENCH_ALLOC_H
#define BENCH_ALLOC_H

#include "bench/peer.h"

#define ALLOC_MAX_CLASSES 8

/* The clients of one priority. */
struct alloc_class {
	const char *name;	/* as on the command line, e.g. fifo:99 */
	struct scheduling scheduling;
};

/*
 * Runs @cell, whose peer is peer_alloc, with nr_pairs clients of each of the @nr_classes, and
 * prints one line of JSON: durations by class. Sleeps until all calls are made.
 */
void alloc_run(struct cell *cell, const struct alloc_class *classes, int nr_classes);

#endif
