/* SPDX-License-Identifier: GPL-2.0 */
/* compat: what both sides of a call between the widths agree on, and common steps. */
#ifndef COMPAT_COMPAT_H
#define COMPAT_COMPAT_H

#include "sys.h"
#include "tests/lib/binder.h"

/* What a client may request from the manager. */
enum {
	ASK_ECHO = 1,	/* the same bytes, each one more */
	ASK_READ,	/* the four bytes that a pipe sent along holds */
	ASK_PIPE,	/* a pipe to read four bytes from */
	ASK_OBJECT,	/* an object of the manager's */
	ASK_CALLBACK,	/* a call to the object sent along, and its answer */
	ASK_GATHERED,	/* the sum of the bytes of a buffer of a scatter-gather call */
	ASK_END,	/* one-way: the manager exits */
};

/* Numbers of more than 32 bits, for fields that the driver passes through. */
#define PTR_OF(n) (0x1122334400000000ull + (n))
#define COOKIE_OF(n) (0x99aabbcc00000000ull + (n))
#define MAGIC 0x5a5aa5a5u

struct peer {
	struct port port;
	struct looper looper;
};

/* Opens, checks the version and maps; 0 or the name of what failed. */
const char *peer_open(struct peer *peer, const char *device);
/*
 * Gives a call or a reply @size bytes of data and an object (or NULL). They are read when it is
 * written, so there can be one at a time.
 */
void peer_pack(struct binder_transaction_data *txn, const void *data, size_t size,
	       const union object *object);
void peer_say(const char *what, const char *name);
int peer_serve(struct peer *peer);
int peer_ask(struct peer *peer);

#endif
