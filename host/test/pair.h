/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pair: a server, which is the context manager and waits for calls, and a client, for
 * tests of the whole engine.
 */
#ifndef ANYBINDER_TEST_PAIR_H
#define ANYBINDER_TEST_PAIR_H

#include "world.h"

struct pair {
	struct world w;
	struct world_proc *server, *client;
	struct world_thread *s, *c;
};

/*
 * Creates both, with the server's thread parked in its read. When host operations are made
 * to fail, some of that may be missing; the functions below cope with it.
 */
void pair_begin(struct pair *p);
/* The same in two steps: the processes, with a thread each; the manager, whose node has @flags. */
void pair_make(struct pair *p);
void pair_start(struct pair *p, u32 flags);
/* Ends both processes and the world; false if world_end() finds a fault. */
bool pair_end(struct pair *p);

/* TEST() with a pair, struct pair *p. */
#define PAIR_TEST(name) TEST_WITH(name, struct pair, p, pair_begin, CHECK_PAIR_END)
#define CHECK_PAIR_END(p) CHECK(pair_end(p))

/*
 * The client calls @handle with @code, @flags and the string @data, including its NUL.
 * Returns as world_write_read().
 */
int pair_call(struct pair *p, u32 handle, u32 code, u32 flags, const char *data);
/* The thread of the server reads, if it is not parked already. */
void pair_serve(struct pair *p);
/* All that can run runs; then the server's next return is a call. False if not. */
bool pair_receive(struct pair *p, struct binder_transaction_data *tr);
/* The server replies with the string @data, and reads without blocking. */
void pair_reply(struct pair *p, const char *data);

/*
 * Consumes the next return of @t; false if it is not @br. Its argument is copied to @arg,
 * unless that is NULL.
 */
bool pair_expect(struct world_thread *t, u32 br, void *arg);
/* Returns whether the data of @tr, received by @t, is the string @data. */
bool pair_has_data(struct world_thread *t, const struct binder_transaction_data *tr,
		   const char *data);

/* A flat_binder_object for an object of the sender. */
struct flat_binder_object pair_binder(u64 ptr, u64 cookie, u32 flags);
/* A call with @object and nothing else. */
struct world_call pair_object_call(const void *object, size_t size, u32 flags);
/*
 * The client calls the server with an object of its own; the server takes a strong count
 * and replies. Returns the handle of the server; 0 if that failed.
 */
u32 pair_send_object(struct pair *p, u64 ptr, u64 cookie);

#endif
