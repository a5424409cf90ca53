/* SPDX-License-Identifier: GPL-2.0 */
/*
 * txn: transactions to be sent: target, data, objects. A payload is `data`, then (from the next
 * multiple of eight) the objects one after the other; the offsets follow from that. Each field can
 * be overridden, for malformed ones.
 */
#ifndef CONFORMANCE_TXN_H
#define CONFORMANCE_TXN_H

#include "client.h"

#define MAX_OBJECTS 8

struct txn {
	uint32_t handle;
	uint32_t code;
	uint32_t flags;
	const void *data;
	size_t size;
	union object objects[MAX_OBJECTS]; /* up to the first with type 0 */

	bool sg;	       /* the _SG form of the command */
	size_t buffers_size;   /* its field; when 0 what the pointer objects need */
	const void *offsets;   /* these offsets instead of the objects' own */
	size_t offsets_size;   /* with .offsets, bytes; without, added to what the objects give */
	size_t data_size;      /* this size instead of the payload's own */
	uint64_t buffer;       /* this (bad) address instead of the payload's own */
	uint64_t offsets_at;   /* this (bad) address of the offsets */
};

/* Queue a transaction or a reply without sending it. */
void put_txn(struct client *client, struct txn txn);
void put_reply(struct client *client, struct txn txn);

/* Queue and send: call(client, handle, .code = 1, ...), call_oneway(...), reply(client, ...). */
#define call(client_, handle_, ...)                                                          \
	send_txn(client_, (struct txn){ .handle = (handle_), ##__VA_ARGS__ })
#define call_oneway(client_, handle_, ...)                                                   \
	call(client_, handle_, .flags = TF_ONE_WAY, ##__VA_ARGS__)
#define reply(client_, ...) send_reply(client_, (struct txn){ __VA_ARGS__ })
void send_txn(struct client *client, struct txn txn);
void send_reply(struct client *client, struct txn txn);

/* Free the buffer of a transaction or reply received. */
void put_free(struct client *client, const struct returned *got);
void free_buffer(struct client *client, const struct returned *got);

/* The n-th object of a payload received. */
const union object *object_at(const struct returned *got, size_t n);

#endif
