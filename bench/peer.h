/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer: one kind of IPC in the comparison, as the steps of a synchronous call.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "bench/cell.h"

#include <stdbool.h>

/*
 * Every client and every server is a process of its own. A step that fails ends its process, and
 * with it the measurement.
 */
struct peer {
	const char *name;
	bool needs_address;
	bool has_no_payload;
	bool shares_server;	/* one server for all clients */

	/* In the parent, before any fork; NULL: not needed. Returns @state of the other steps. */
	void *(*prepare)(const struct cell *cell);

	/*
	 * A helper process that servers and clients need, NULL if none: calls cell_process_ready()
	 * when it is ready and never returns.
	 */
	void (*assist)(void *state, const struct cell *cell);

	/*
	 * In the server of pair @pair, NULL if there is none: calls cell_process_ready() when it is
	 * ready for calls, and never returns.
	 */
	void (*serve)(void *state, const struct cell *cell, int pair);

	/* In the client of pair @pair, whose server is ready. Returns the argument of call(). */
	void *(*connect)(void *state, const struct cell *cell, int pair);

	/* What a call needs and is not measured; NULL: nothing. */
	void (*before_call)(void *connection);

	/* One call and its reply. */
	void (*call)(void *connection);

	/*
	 * In the parent, when all calls are made: prints further members of the record. NULL: there
	 * are none.
	 */
	void (*report)(const struct cell *cell);
};

extern const struct peer peer_binder;
extern const struct peer peer_dbus;
extern const struct peer peer_grpc;
extern const struct peer peer_capnp;
extern const struct peer peer_grpc_tls;
extern const struct peer peer_rpc_tls;
extern const struct peer peer_link;
extern const struct peer peer_link_accessor;
extern const struct peer peer_unix;
extern const struct peer peer_pipe;
extern const struct peer peer_futex;
extern const struct peer peer_entry;

/* What a driver does besides plain calls; see operations.c. */
extern const struct peer peer_oneway;
extern const struct peer peer_object;
extern const struct peer peer_handle;
extern const struct peer peer_nested;
extern const struct peer peer_file;
extern const struct peer peer_deaths;
extern const struct peer peer_open;

/* Calls whose ends record timestamps; see stages.c. */
extern const struct peer peer_stages;

/* Calls of mixed sizes to one server; see alloc.c. */
extern const struct peer peer_alloc;

/* No call at all: work that keeps a processor busy; see spin.c. */
extern const struct peer peer_spin;

/* The peers of this program (see peers_plain.c and peers_all.c), NULL at the end. */
extern const struct peer *const peers[];

/* Runs dbus-broker at a socket; NULL in the program without D-Bus. */
extern void (*const run_broker)(const char *path);

#endif
