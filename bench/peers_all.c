// SPDX-License-Identifier: GPL-2.0
/*
 * The peers of bench-peers: all, with the libraries that they need.
 */
#include "bench/broker.h"
#include "bench/peer.h"

const struct peer *const peers[] = { &peer_binder,   &peer_dbus,    &peer_grpc, &peer_capnp,
				     &peer_unix,     &peer_pipe,    &peer_futex, &peer_entry,
				     &peer_grpc_tls, &peer_rpc_tls, &peer_link, &peer_link_accessor,
				     NULL };

void (*const run_broker)(const char *path) = broker_run;
