/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cell of a comparison: one measurement, its processes and its record.
 */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;

#define CELL_MAX_CLASSES 8

/* With which policy and priority a process runs; all zeroes: as its parent. */
struct scheduling {
	bool has_policy;
	int policy;		/* SCHED_OTHER or SCHED_FIFO */
	int priority;		/* nice value, or real-time priority */
};

/* Parses other:NICE or fifo:PRIORITY. Ends the process if @text is neither. */
struct scheduling scheduling_parse(const char *text);

/* Clients that run alike and whose durations are recorded together. */
struct client_class {
	const char *name;	/* as on the command line, e.g. fifo:99 */
	struct scheduling scheduling;
};

/* What is measured: which peer, how big, how many pairs, where. */
struct cell {
	const char *address;	/* device file or bus address; NULL if the peer needs none */
	size_t request_bytes;
	size_t reply_bytes;
	int nr_pairs;		/* of all classes together */
	/* What is above is also declared in tools/bench-peers/src/pair.rs. */
	const struct peer *peer;
	struct client_class classes[CELL_MAX_CLASSES];	/* each has as many clients */
	int nr_classes;
	struct scheduling servers;
	int duration_ms;
	unsigned long nr_calls;	/* of each client, instead of a duration; 0: none */
	int delay_us;		/* pause of a client between two calls, not measured */
	int nr_measured;	/* only the durations of so many clients count, and only they
				 * pause: the others are load; 0: all clients */
	int nr_objects;		/* of all idle clients together */
	int nr_threads;		/* of each idle client, as what follows */
	int nr_references;	/* to objects of another process */
	int nr_buffers;		/* that were received and not freed */
};

/*
 * Runs @cell: helper, servers, clients, a warm-up and the measured calls; then prints its record, a
 * line of JSON:
 *
 *   calls		of all clients
 *   seconds		from the common start to the end of the last call
 *   user_us, system_us	processor time of clients and servers, per call
 *   classes		of each class of clients: its name, the sum of the durations in ns, and the
 *			histogram [[duration in ns, how often], ...]
 *
 * and what the peer adds. Sleeps until all calls are made. No process is left when it returns; ends
 * this process if one of them failed or hung.
 *
 * If the peer has no calls: prints `ready` when all threads of all clients wait, and returns when
 * standard input ends.
 */
void cell_run(const struct cell *cell);

/* Calls of each client before the measured ones. */
#define CELL_WARM_UP_CALLS 50

/* Page-aligned memory of @size bytes with a pattern, never freed: the process is short-lived. */
void *payload_new(size_t size);

/*
 * Reads one byte of every cache line of @data, as a receiver that uses its data does: pages that
 * are not mapped yet fault here. All bytes would take most of the measured time.
 */
void payload_read(const void *data, size_t size);

/* Zeroed memory of @bytes that all processes of the measurement share; never NULL. */
void *cell_shared_memory(size_t bytes);

/* A helper or a server process calls this when it is ready. */
void cell_process_ready(void);

/* fork(2) of a child that is killed when its parent ends. Failure ends the process. */
pid_t cell_fork(void);

/* CLOCK_MONOTONIC, in ns. */
uint64_t cell_now_ns(void);

#endif
