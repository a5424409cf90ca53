// SPDX-License-Identifier: GPL-2.0
/*
 * The builder lays out a payload in shared memory, where the sender's process can read it, and
 * queues the command that refers to it.
 */
#include <string.h>

#include "test.h"
#include "txn.h"

static size_t object_size(uint32_t type)
{
	switch (type) {
	case BINDER_TYPE_FD:
		return sizeof(struct binder_fd_object);
	case BINDER_TYPE_FDA:
		return sizeof(struct binder_fd_array_object);
	case BINDER_TYPE_PTR:
		return sizeof(struct binder_buffer_object);
	default:
		return sizeof(struct flat_binder_object);
	}
}

/*
 * Copy data and objects to shared memory and point td at them; returns the additional size that
 * the pointer objects need.
 */
static size_t lay_out(const struct txn *txn, struct binder_transaction_data *td)
{
	uint8_t *payload = shared_alloc(txn->size + 8 + sizeof(txn->objects));
	binder_size_t *offsets = shared_alloc(MAX_OBJECTS * sizeof(*offsets));
	size_t at = txn->size, count = 0, buffers = 0;

	if (txn->size && txn->data)
		memcpy(payload, txn->data, txn->size);
	for (; count < MAX_OBJECTS && txn->objects[count].hdr.type; count++) {
		const union object *object = &txn->objects[count];

		at = (at + 7) & ~(size_t)7;
		offsets[count] = at;
		memcpy(payload + at, object, object_size(object->hdr.type));
		at += object_size(object->hdr.type);
		if (object->hdr.type == BINDER_TYPE_PTR)
			buffers += (object->ptr.length + 7) & ~(size_t)7;
	}
	td->data_size = at;
	td->offsets_size = count * sizeof(*offsets) + txn->offsets_size;
	td->data.ptr.buffer = (uintptr_t)payload;
	td->data.ptr.offsets = (uintptr_t)offsets;
	if (txn->offsets) {
		td->offsets_size = txn->offsets_size;
		td->data.ptr.offsets = (uintptr_t)shared_copy(txn->offsets, txn->offsets_size);
	}
	return buffers;
}

static void put(struct client *client, const struct txn *txn, uint32_t plain, uint32_t with_sg)
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
	put_cmd(client, txn->sg ? with_sg : plain);
	put_bytes(client, &sg, txn->sg ? sizeof(sg) : sizeof(sg.transaction_data));
}

void put_txn(struct client *client, struct txn txn)
{
	put(client, &txn, BC_TRANSACTION, BC_TRANSACTION_SG);
}

void put_reply(struct client *client, struct txn txn)
{
	put(client, &txn, BC_REPLY, BC_REPLY_SG);
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
	if (!got->data || !got->offsets || n >= got->txn.offsets_size / sizeof(*got->offsets))
		FAIL("no object %zu in the payload (%llu bytes of offsets)", n,
		     (unsigned long long)got->txn.offsets_size);
	return (const union object *)(got->data + got->offsets[n]);
}
