// SPDX-License-Identifier: GPL-2.0
/*
 * Services of another machine, over TLS with certificates at both ends: gRPC, RPC Binder without a
 * driver, and Binder over a link. Both machines are this one; its address is that of the loopback
 * device.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/rpc.h"

#include <stdlib.h>
#include <unistd.h>

/* One for each pair of the cell. */
static void *far_prepare(const struct cell *cell)
{
	struct far_pair *pairs = calloc((size_t)cell->nr_pairs, sizeof(*pairs));

	if (!pairs)
		fail("no memory");
	for (int i = 0; i < cell->nr_pairs; i++)
		pairs[i] = (struct far_pair){
			.directory = cell->address,
			.measurement = getpid(),
			.pair = i,
			.port = far_free_port(),
			.request_bytes = cell->request_bytes,
			.reply_bytes = cell->reply_bytes,
		};
	return pairs;
}

/* The ends of links are processes that servers start; their time counts as that of the servers. */
static void *link_prepare(const struct cell *cell)
{
	far_adopt_orphans();
	return far_prepare(cell);
}

static void grpc_tls_peer_serve(void *state, const struct cell *cell, int pair)
{
	grpc_tls_serve((struct far_pair *)state + pair, cell_process_ready);
}

static void *grpc_tls_peer_connect(void *state, const struct cell *cell, int pair)
{
	return grpc_tls_connect((struct far_pair *)state + pair);
}

static void rpc_tls_peer_serve(void *state, const struct cell *cell, int pair)
{
	rpc_tls_serve((struct far_pair *)state + pair, cell_process_ready);
}

static void *rpc_tls_peer_connect(void *state, const struct cell *cell, int pair)
{
	return rpc_tls_connect((struct far_pair *)state + pair);
}

static void link_peer_serve(void *state, const struct cell *cell, int pair)
{
	link_serve((struct far_pair *)state + pair, false, cell_process_ready);
}

static void accessor_peer_serve(void *state, const struct cell *cell, int pair)
{
	link_serve((struct far_pair *)state + pair, true, cell_process_ready);
}

static void *link_peer_connect(void *state, const struct cell *cell, int pair)
{
	return link_connect((struct far_pair *)state + pair);
}

#define FAR_PEER(name_, prepare_, serve_, connect_, call_)                                     \
	{                                                                                      \
		.name = name_, .needs_address = true, .prepare = prepare_, .serve = serve_,    \
		.connect = connect_, .call = call_,                                            \
	}

const struct peer peer_grpc_tls = FAR_PEER("grpc-tls", far_prepare, grpc_tls_peer_serve,
					   grpc_tls_peer_connect, grpc_call);
const struct peer peer_rpc_tls = FAR_PEER("rpc-tls", far_prepare, rpc_tls_peer_serve,
					  rpc_tls_peer_connect, echo_call);
const struct peer peer_link = FAR_PEER("link", link_prepare, link_peer_serve,
				       link_peer_connect, echo_call);
const struct peer peer_link_accessor = FAR_PEER("link-accessor", link_prepare, accessor_peer_serve,
						link_peer_connect, echo_call);
