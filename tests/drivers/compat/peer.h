/* SPDX-License-Identifier: GPL-2.0 */
/* peer: what both sides of a call between the widths agree on, and common steps. */
#ifndef COMPAT_PEER_H
#define COMPAT_PEER_H

#include <linux/android/binder.h>

#include "sys.h"

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
	int fd;
	const uint8_t *map;
	uint8_t out[512];
	size_t out_size;
	uint8_t in[512];
	size_t in_pos, in_end;
};

/* Opens, checks the version and maps; 0 or the name of what failed. */
const char *peer_open(struct peer *peer, const char *device);
/* Queues a command with its argument. */
void peer_put(struct peer *peer, uint32_t cmd, const void *arg, size_t size);
/* Queues a call or a reply with one object (or NULL) after @size bytes of data. */
void peer_send(struct peer *peer, uint32_t cmd, struct binder_transaction_data *tr,
	       const void *data, size_t size, const void *object, size_t object_size);
/* Writes what is queued and reads one return; BR_NOOP is skipped. 0: it failed. */
uint32_t peer_next(struct peer *peer, void *arg);
/* Writes what is queued. 0 or a negative errno. */
long peer_flush(struct peer *peer);
/* Reads until @want and acknowledges references meanwhile; false if another return arrives. */
int peer_expect(struct peer *peer, uint32_t want, void *arg);
void peer_free(struct peer *peer, const struct binder_transaction_data *tr);
void peer_say(const char *what, const char *name);
int peer_serve(struct peer *peer);
int peer_ask(struct peer *peer);

#endif
