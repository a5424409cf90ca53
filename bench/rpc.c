// SPDX-License-Identifier: GPL-2.0
/*
 * gRPC and Cap'n Proto over unix sockets: ready-made RPC systems. Like a D-Bus method call and
 * unlike the plain streams they marshal and dispatch; like the streams they have no daemon in
 * between.
 */
#include "bench/rpc.h"

#include "bench/fail.h"
#include "bench/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_BYTES 64

/* The start of the sockets' names, different for each measurement. */
static void *rpc_prepare(const struct cell *cell)
{
	char *prefix = malloc(NAME_BYTES);

	if (!prefix)
		fail("no memory");
	snprintf(prefix, NAME_BYTES, "anybinder-bench-%s-%d", cell->peer->name, getpid());
	return prefix;
}

static void name_of(char name[NAME_BYTES], const void *prefix, int pair)
{
	snprintf(name, NAME_BYTES, "%s-%d", (const char *)prefix, pair);
}

static void grpc_peer_serve(void *state, const struct cell *cell, int pair)
{
	char name[NAME_BYTES];

	name_of(name, state, pair);
	grpc_serve(name, cell->request_bytes, cell->reply_bytes, cell_process_ready);
}

static void capnp_peer_serve(void *state, const struct cell *cell, int pair)
{
	char name[NAME_BYTES];

	name_of(name, state, pair);
	capnp_serve(name, cell->request_bytes, cell->reply_bytes, cell_process_ready);
}

static void *grpc_peer_connect(void *state, const struct cell *cell, int pair)
{
	char name[NAME_BYTES];

	name_of(name, state, pair);
	return grpc_connect(name, cell->request_bytes, cell->reply_bytes);
}

static void *capnp_peer_connect(void *state, const struct cell *cell, int pair)
{
	char name[NAME_BYTES];

	name_of(name, state, pair);
	return capnp_connect(name, cell->request_bytes, cell->reply_bytes);
}

const struct peer peer_grpc = {
	.name = "grpc",
	.prepare = rpc_prepare,
	.serve = grpc_peer_serve,
	.connect = grpc_peer_connect,
	.call = grpc_call,
};

const struct peer peer_capnp = {
	.name = "capnp",
	.prepare = rpc_prepare,
	.serve = capnp_peer_serve,
	.connect = capnp_peer_connect,
	.call = capnp_call,
};
