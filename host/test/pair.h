/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What most tests of the whole engine begin with: a server that is the context
 * manager and waits for calls, and a client.
 */
#ifndef ANYBINDER_TEST_PAIR_H
#define ANYBINDER_TEST_PAIR_H

#include "world.h"

struct pair {
	struct world w;
	struct world_proc *server, *client;
	struct world_thread *s, *c;
};

/* Everything in place, the server's thread parked in its read.  When host calls
 * are made to fail, some of it may be missing; nothing below minds. */
void pair_begin(struct pair *p);
bool pair_end(struct pair *p);

/* The client calls handle @handle with @data (a string, its NUL included), as
 * @code and with @flags.  Returns what the client's write and read returns. */
int pair_call(struct pair *p, u32 handle, u32 code, u32 flags, const char *data);
/* The server's thread reads (parks if need be). */
void pair_serve(struct pair *p);
/* The server answers with @data, and reads only what is there already. */
void pair_reply(struct pair *p, const char *data);

/* The next return of @t; false unless it is @br, whose argument goes to *@arg. */
bool pair_expect(struct world_thread *t, u32 br, void *arg);
/* Does @t find the string @data where @tr says? */
bool pair_has_data(struct world_thread *t, const struct binder_transaction_data *tr,
		   const char *data);

/* A flat object for data: one of the sender's own. */
struct flat_binder_object pair_binder(u64 ptr, u64 cookie, u32 flags);
/* The client sends an object of its own to the server and gets an (empty) answer.
 * Returns the handle that the server keeps (one strong count), 0 if that failed. */
u32 pair_give_object(struct pair *p, u64 ptr, u64 cookie);

#endif
