/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RPC systems written in Rust (tools/bench-peers), over abstract unix sockets or TLS. Every failure
 * ends the process.
 */
#ifndef BENCH_RPC_H
#define BENCH_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Serves on @name until killed; calls @ready() when it is ready for calls. */
void grpc_serve(const char *name, size_t request_bytes, size_t reply_bytes, void (*ready)(void));
void capnp_serve(const char *name, size_t request_bytes, size_t reply_bytes, void (*ready)(void));

/* Returns a connection to the server on @name, never freed. */
void *grpc_connect(const char *name, size_t request_bytes, size_t reply_bytes);
void *capnp_connect(const char *name, size_t request_bytes, size_t reply_bytes);

/* One call and its reply. */
void grpc_call(void *connection);
void capnp_call(void *connection);

/* A client and a server over TLS. */
struct far_pair {
	const char *directory;	/* has the keys and, for a link, the two mounts */
	int measurement;	/* different for each that may run at the same time */
	int pair;
	uint16_t port;		/* where the server, or what exports it, listens */
	size_t request_bytes, reply_bytes;
};

/* Processes whose parents end become children of the calling process. */
void far_adopt_orphans(void);

/* Returns a port of the loopback device that no program listens on. */
uint16_t far_free_port(void);

/* gRPC; the connection is for grpc_call(). */
void grpc_tls_serve(const struct far_pair *pair, void (*ready)(void));
void *grpc_tls_connect(const struct far_pair *pair);

/* RPC Binder without a driver, and Binder over a link; connections for echo_call(). */
void rpc_tls_serve(const struct far_pair *pair, void (*ready)(void));
void *rpc_tls_connect(const struct far_pair *pair);
void link_serve(const struct far_pair *pair, bool accessor, void (*ready)(void));
void *link_connect(const struct far_pair *pair);
void echo_call(void *connection);

#endif
