// SPDX-License-Identifier: GPL-2.0
/*
 * The builder lays out a payload in shared memory, where the sender's process can read it, and
 * queues the command that refers to it.
 */
#include <string.h>

#include "test.h"
#include "txn.h"

/*
 * Copy data and objects to shared memory and point td at them; returns the additional size that
 * the pointer objects need.
 */
static size_t lay_out(const struct txn *txn, struct binder_transaction_data *td)
{
	size_t room = txn->size + 8 + sizeof(txn->objects);
	struct payload payload = {
		.data = shared_alloc(room),
		.room = room,
		.offsets = shared_alloc(MAX_OBJECTS * sizeof(*payload.offsets)),
		.max = MAX_OBJECTS,
	};

	if (txn->data)
		payload_add_bytes(&payload, txn->data, txn->size);
	else
		payload.size = txn->size;
	for (size_t i = 0; i < MAX_OBJECTS && txn->objects[i].hdr.type; i++)
		payload_add(&payload, &txn->objects[i]);
	td->data_size = payload.size;
	td->offsets_size = payload.nr * sizeof(*payload.offsets) + txn->offsets_size;
	td->data.ptr.buffer = (uintptr_t)payload.data;
	td->data.ptr.offsets = (uintptr_t)payload.offsets;
	if (txn->offsets) {
		td->offsets_size = txn->offsets_size;
		td->data.ptr.offsets = (uintptr_t)shared_copy(txn->offsets, txn->offsets_size);
	}
	return payload.buffers_size;
}

static struct binder_transaction_data_sg argument_of(const struct txn *txn)
{
	struct binder_transaction_data_sg sg = {
		.transaction_data = {
			.target.handle = txn->handle,
			.code = txn->code,
			.flags = txn->flags,
		},
	};

	sg.buffers_size = lay_out(txn, &sg.transaction_data);
	if (txn->buffers_size)
		sg.buffers_size = txn->buffers_size;
	if (txn->data_size)
		sg.transaction_data.data_size = txn->data_size;
	if (txn->buffer)
		sg.transaction_data.data.ptr.buffer = txn->buffer;
	if (txn->offsets_at)
		sg.transaction_data.data.ptr.offsets = txn->offsets_at;
	return sg;
}

void put_txn(struct client *client, struct txn txn)
{
	struct binder_transaction_data_sg sg = argument_of(&txn);

	if (txn.sg)
		commands_put_call_sg(&client->out, &sg);
	else
		commands_put_call(&client->out, &sg.transaction_data);
}

void put_reply(struct client *client, struct txn txn)
{
	struct binder_transaction_data_sg sg = argument_of(&txn);

	if (txn.sg)
		commands_put_reply_sg(&client->out, &sg);
	else
		commands_put_reply(&client->out, &sg.transaction_data);
}

void send_txn(struct client *client, struct txn txn)
{
	put_txn(client, txn);
	flush(client);
}

void send_reply(struct client *client, struct txn txn)
{
	put_reply(client, txn);
	flush(client);
}

void put_free(struct client *client, const struct returned *got)
{
	put_u64(client, BC_FREE_BUFFER, got->txn.data.ptr.buffer);
}

void free_buffer(struct client *client, const struct returned *got)
{
	put_free(client, got);
	flush(client);
}

const union object *object_at(const struct returned *got, size_t n)
{
	union object *copy = shared_alloc(sizeof(*copy));
	const void *object = returned_object(got, n);
	size_t left;

	if (!object)
		FAIL("no object %zu in the payload (%llu bytes of offsets)", n,
		     (unsigned long long)got->txn.offsets_size);
	left = got->txn.data_size - got->offsets[n];
	memcpy(copy, object, left < sizeof(*copy) ? left : sizeof(*copy));
	return copy;
}
