/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer: one kind of IPC in the comparison, as the four steps of a synchronous call.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "bench/seat.h"

#include <stddef.h>

/* One measurement: what is called, how big, by how many, where. */
struct cell {
	const struct peer *peer;
	const char *address;	/* device file or bus address; NULL if the peer needs none */
	size_t request_bytes;
	size_t reply_bytes;
	int nr_pairs;
	struct seat clients, servers;
	const struct seat *client_seats;	/* of each client, instead of @clients; or NULL */
	int duration_ms;
	unsigned long nr_calls;	/* of each client, instead of a duration; 0: as many as fit */
};

/*
 * Every client and every server is a process of its own. Steps that fail end their process, and
 * with it the measurement.
 */
struct peer {
	const char *name;
	bool shares_server;	/* one server for all clients */

	/* In the parent, before any fork. Returns what the other steps are handed as @state. */
	void *(*prepare)(const struct cell *cell);

	/*
	 * A helper process that servers and clients need, NULL if none: calls stage_up() when
	 * it is ready and never returns.
	 */
	void (*assist)(void *state, const struct cell *cell);

	/* In the server of pair @pair: calls stage_up() when calls may come; never returns. */
	void (*serve)(void *state, const struct cell *cell, int pair);

	/* In the client of pair @pair, whose server is up. Returns what call() is handed. */
	void *(*connect)(void *state, const struct cell *cell, int pair);

	/* One call and its answer. */
	void (*call)(void *connection);
};

extern const struct peer peer_binder;
extern const struct peer peer_dbus;
extern const struct peer peer_grpc;
extern const struct peer peer_capnp;
extern const struct peer peer_unix;
extern const struct peer peer_pipe;
extern const struct peer peer_futex;
extern const struct peer peer_entry;

/* Calls whose ends note when they get where; see stages.h. */
extern const struct peer peer_stages;

/* Calls of mixed sizes to one server; see alloc.h. */
extern const struct peer peer_alloc;

/* Of the program at hand (see plain.c and every.c), NULL at the end. */
extern const struct peer *const peers[];

/* Runs dbus-broker at a socket; NULL in the program that has no D-Bus. */
extern void (*const run_broker)(const char *path);

#endif
