/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RPC systems written in Rust (tools/bench-peers); each listens on an abstract unix socket. Every
 * failure ends the process.
 */
#ifndef BENCH_RPC_H
#define BENCH_RPC_H

#include <stddef.h>

/* Serves on @name until killed; calls @ready() when it is ready for calls. */
void grpc_serve(const char *name, size_t request_bytes, size_t reply_bytes, void (*ready)(void));
void capnp_serve(const char *name, size_t request_bytes, size_t reply_bytes, void (*ready)(void));

/* Returns a connection to the server on @name, never freed. */
void *grpc_connect(const char *name, size_t request_bytes, size_t reply_bytes);
void *capnp_connect(const char *name, size_t request_bytes, size_t reply_bytes);

/* One call and its reply. */
void grpc_call(void *connection);
void capnp_call(void *connection);

#endif
