/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RPC systems written in Rust, as the library tools/bench-peers brings them: each listens at an
 * abstract unix socket. What fails ends the process.
 */
#ifndef BENCH_RPC_H
#define BENCH_RPC_H

#include <stddef.h>

/* Serves at @name until killed; calls @ready() once calls may come. */
void grpc_serve(const char *name, size_t request_bytes, size_t reply_bytes, void (*ready)(void));
void capnp_serve(const char *name, size_t request_bytes, size_t reply_bytes, void (*ready)(void));

/* A connection to the server at @name, never freed. */
void *grpc_connect(const char *name, size_t request_bytes, size_t reply_bytes);
void *capnp_connect(const char *name, size_t request_bytes, size_t reply_bytes);

/* One call and its answer. */
void grpc_call(void *connection);
void capnp_call(void *connection);

#endif
