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

	/*
	 * In the client of pair @pair, whose server is ready. Returns the argument of call().
	 * Without a call() it never returns; each thread of the client calls
	 * cell_process_ready().
	 */
	void *(*connect)(void *state, const struct cell *cell, int pair);

	/* What a call needs and is not measured; NULL: nothing. */
	void (*before_call)(void *connection);

	/* One call and its reply; NULL: clients are idle. */
	void (*call)(void *connection);

	/*
	 * In the parent, when all calls are made: prints further members of the record. NULL: there
	 * are none.
	 */
	void (*report)(const struct cell *cell);
};

/* Plain calls and lower bounds of one. */
extern const struct peer peer_binder;
extern const struct peer peer_deferred;
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

/* Raw calls whose ends record timestamps, and of mixed sizes to one server; see calls.c. */
extern const struct peer peer_stages;
extern const struct peer peer_alloc;

/* No call at all, but what disturbs others; see disturb.c. */
extern const struct peer peer_spin;
extern const struct peer peer_reclaim;

/* Clients that wait; see idle_clients.c. */
extern const struct peer peer_idle;

/* Allocations of shared buffers; see heap_apps.c. */
extern const struct peer peer_heap;

/* Peers that need libraries, which only bench-peers has; see dbus.c and tools/bench-peers. */
#define NEEDS_LIBRARY __attribute__((weak))
extern const struct peer peer_dbus NEEDS_LIBRARY;
extern const struct peer peer_dbus_idle NEEDS_LIBRARY;
extern const struct peer peer_broker NEEDS_LIBRARY;
extern const struct peer peer_grpc NEEDS_LIBRARY;
extern const struct peer peer_capnp NEEDS_LIBRARY;
extern const struct peer peer_grpc_tls NEEDS_LIBRARY;
extern const struct peer peer_rpc_tls NEEDS_LIBRARY;
extern const struct peer peer_link NEEDS_LIBRARY;
extern const struct peer peer_link_accessor NEEDS_LIBRARY;
extern const struct peer peer_framework NEEDS_LIBRARY;
extern const struct peer peer_lookup NEEDS_LIBRARY;

#endif
