// SPDX-License-Identifier: GPL-2.0
/*
 * A write buffer is a row of commands, each a number and its argument; a read buffer is the same in
 * the other direction. The size of an argument is part of the number, as in an ioctl, so one
 * function encodes every command and one decodes every return.
 *
 * Compiled without a C library as well (tests/drivers/compat): here is no system call, and no
 * header of that library.
 */
#include <linux/errno.h>

#include "binder.h"

/* ---- port --------------------------------------------------------------------------------- */

int port_ioctl(struct port *port, unsigned long cmd, void *arg)
{
	return port->system->ioctl(port, cmd, (unsigned long)(uintptr_t)arg);
}

int port_manage(struct port *port)
{
	struct flat_binder_object object = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
	};

	return port_ioctl(port, BINDER_SET_CONTEXT_MGR_EXT, &object);
}

int port_write_read(struct port *port, struct commands *out, struct returns *in)
{
	struct binder_write_read bwr = { 0 };
	bool overflowed = out && out->overflowed;
	int err;

	if (out) {
		bwr.write_buffer = (uintptr_t)out->bytes;
		bwr.write_size = out->size;
		out->size = 0;
		out->overflowed = false;
	}
	if (in) {
		bwr.read_buffer = (uintptr_t)in->bytes;
		bwr.read_size = in->room;
		in->at = in->size = 0;
	}
	if (overflowed)
		return -ENOBUFS;
	err = port_ioctl(port, BINDER_WRITE_READ, &bwr);
	if (in)
		in->size = (size_t)bwr.read_consumed;
	if (err == -EINTR && out) {
		out->size = (size_t)(bwr.write_size - bwr.write_consumed);
		__builtin_memmove(out->bytes, out->bytes + bwr.write_consumed, out->size);
	}
	if (!err && bwr.write_consumed != bwr.write_size)
		return -EIO;
	return err;
}

/* ---- commands ----------------------------------------------------------------------------- */

void commands_put_bytes(struct commands *out, const void *bytes, size_t size)
{
	if (size > out->room - out->size) {
		out->overflowed = true;
		return;
	}
	if (size)
		__builtin_memcpy(out->bytes + out->size, bytes, size);
	out->size += size;
}

/* Inline, so that an argument whose size is known is copied without a call. */
static inline void put(struct commands *out, uint32_t cmd, const void *arg, size_t size)
{
	uint8_t *at = out->bytes + out->size;

	if (sizeof(cmd) + size > out->room - out->size) {
		out->overflowed = true;
		return;
	}
	__builtin_memcpy(at, &cmd, sizeof(cmd));
	if (size)
		__builtin_memcpy(at + sizeof(cmd), arg, size);
	out->size += sizeof(cmd) + size;
}

void commands_put(struct commands *out, uint32_t cmd, const void *arg)
{
	put(out, cmd, arg, _IOC_SIZE(cmd));
}

void commands_put_u32(struct commands *out, uint32_t cmd, uint32_t value)
{
	put(out, cmd, &value, sizeof(value));
}

void commands_put_u64(struct commands *out, uint32_t cmd, uint64_t value)
{
	put(out, cmd, &value, sizeof(value));
}

void commands_put_ref(struct commands *out, uint32_t cmd, uint64_t ptr, uint64_t cookie)
{
	const struct binder_ptr_cookie ref = { .ptr = ptr, .cookie = cookie };

	commands_put(out, cmd, &ref);
}

void commands_put_notice(struct commands *out, uint32_t cmd, uint32_t handle, uint64_t cookie)
{
	const struct binder_handle_cookie notice = { .handle = handle, .cookie = cookie };

	commands_put(out, cmd, &notice);
}

void commands_put_call(struct commands *out, const struct binder_transaction_data *call)
{
	put(out, BC_TRANSACTION, call, sizeof(*call));
}

void commands_put_reply(struct commands *out, const struct binder_transaction_data *reply)
{
	put(out, BC_REPLY, reply, sizeof(*reply));
}

void commands_put_call_sg(struct commands *out, const struct binder_transaction_data_sg *call)
{
	commands_put(out, BC_TRANSACTION_SG, call);
}

void commands_put_reply_sg(struct commands *out, const struct binder_transaction_data_sg *reply)
{
	commands_put(out, BC_REPLY_SG, reply);
}

bool commands_acknowledge(struct commands *out, const struct returned *item)
{
	switch (item->cmd) {
	case BR_INCREFS:
		commands_put(out, BC_INCREFS_DONE, &item->ref);
		return true;
	case BR_ACQUIRE:
		commands_put(out, BC_ACQUIRE_DONE, &item->ref);
		return true;
	case BR_DEAD_BINDER:
		commands_put_u64(out, BC_DEAD_BINDER_DONE, item->cookie);
		return true;
	case BR_FROZEN_BINDER:
		commands_put_u64(out, BC_FREEZE_NOTIFICATION_DONE, item->frozen.cookie);
		return true;
	default:
		return false;
	}
}

/* ---- returns ------------------------------------------------------------------------------ */

bool returns_next(struct returns *in, struct returned *item)
{
	const uint8_t *at = in->bytes + in->at;
	size_t left = in->size - in->at, size;
	uint32_t cmd;

	if (left < sizeof(cmd))
		return false;
	__builtin_memcpy(&cmd, at, sizeof(cmd));
	size = _IOC_SIZE(cmd);
	if (size > left - sizeof(cmd) || size > sizeof(item->with_secctx))
		return false;
	in->at += sizeof(cmd) + size;
	item->cmd = cmd;
	item->data = NULL;
	item->offsets = NULL;
	item->secctx = NULL;
	/* Most returns have no argument, and most arguments are transactions: a copy of their size
	 * takes no call. */
	if (!size)
		return true;
	if (size == sizeof(item->txn))
		__builtin_memcpy(&item->txn, at + sizeof(cmd), sizeof(item->txn));
	else
		__builtin_memcpy(&item->with_secctx, at + sizeof(cmd), size);
	if (returned_is_payload(item)) {
		item->data = (const void *)(uintptr_t)item->txn.data.ptr.buffer;
		item->offsets = (const void *)(uintptr_t)item->txn.data.ptr.offsets;
	}
	if (cmd == BR_TRANSACTION_SEC_CTX)
		item->secctx = (const void *)(uintptr_t)item->with_secctx.secctx;
	return true;
}

bool returned_is_payload(const struct returned *item)
{
	return item->cmd == BR_TRANSACTION || item->cmd == BR_TRANSACTION_SEC_CTX ||
	       item->cmd == BR_REPLY;
}

bool returned_is_count(const struct returned *item)
{
	return item->cmd == BR_INCREFS || item->cmd == BR_ACQUIRE || item->cmd == BR_RELEASE ||
	       item->cmd == BR_DECREFS;
}

bool returned_ends_call(const struct returned *item)
{
	return item->cmd == BR_REPLY || item->cmd == BR_DEAD_REPLY ||
	       item->cmd == BR_FAILED_REPLY || item->cmd == BR_FROZEN_REPLY;
}

/* ---- payload ------------------------------------------------------------------------------ */

size_t object_size(uint32_t type)
{
	switch (type) {
	case BINDER_TYPE_BINDER:
	case BINDER_TYPE_WEAK_BINDER:
	case BINDER_TYPE_HANDLE:
	case BINDER_TYPE_WEAK_HANDLE:
		return sizeof(struct flat_binder_object);
	case BINDER_TYPE_FD:
		return sizeof(struct binder_fd_object);
	case BINDER_TYPE_FDA:
		return sizeof(struct binder_fd_array_object);
	case BINDER_TYPE_PTR:
		return sizeof(struct binder_buffer_object);
	default:
		return 0;
	}
}

static size_t aligned(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

bool payload_add_bytes(struct payload *payload, const void *bytes, size_t size)
{
	if (size > payload->room - payload->size)
		return false;
	if (size)
		__builtin_memcpy(payload->data + payload->size, bytes, size);
	payload->size += size;
	return true;
}

bool payload_add(struct payload *payload, const union object *object)
{
	size_t size = object_size(object->hdr.type), at = aligned(payload->size);

	if (!size)
		size = sizeof(object->flat);
	if (payload->nr == payload->max || at > payload->room || size > payload->room - at)
		return false;
	payload->offsets[payload->nr++] = at;
	payload->size = at;
	payload_add_bytes(payload, object, size);
	if (object->hdr.type == BINDER_TYPE_PTR)
		payload->buffers_size += aligned((size_t)object->ptr.length);
	return true;
}

struct binder_transaction_data payload_txn(const struct payload *payload)
{
	return (struct binder_transaction_data){
		.data_size = payload->size,
		.offsets_size = payload->nr * sizeof(*payload->offsets),
		.data.ptr = { (uintptr_t)payload->data, (uintptr_t)payload->offsets },
	};
}

const union object *returned_object(const struct returned *item, size_t n)
{
	struct binder_object_header hdr;
	uint64_t at, size = item->txn.data_size;

	if (!item->data || !item->offsets || n >= item->txn.offsets_size / sizeof(*item->offsets))
		return NULL;
	at = item->offsets[n];
	if (at > size || size - at < sizeof(hdr))
		return NULL;
	__builtin_memcpy(&hdr, item->data + at, sizeof(hdr));
	return size - at >= object_size(hdr.type) ? (const void *)(item->data + at) : NULL;
}

/* ---- looper ------------------------------------------------------------------------------- */

void looper_init(struct looper *looper, struct port *port)
{
	looper->port = port;
	looper->out = (struct commands){ .bytes = looper->out_bytes, .room = LOOPER_BYTES };
	looper->in = (struct returns){ .bytes = looper->in_bytes, .room = LOOPER_BYTES };
}

int looper_flush(struct looper *looper)
{
	if (!looper->out.size && !looper->out.overflowed)
		return 0;
	return port_write_read(looper->port, &looper->out, NULL);
}

int looper_read(struct looper *looper)
{
	return port_write_read(looper->port, &looper->out, &looper->in);
}

int looper_next(struct looper *looper, struct returned *item)
{
	do {
		while (!returns_next(&looper->in, item)) {
			int err = looper->in.at == looper->in.size ? looper_read(looper) : -EPROTO;

			if (err)
				return err;
		}
	} while (item->cmd == BR_NOOP);
	return 0;
}

int looper_take(struct looper *looper, struct returned *item)
{
	int err = looper_next(looper, item);

	while (!err && returned_is_count(item)) {
		commands_acknowledge(&looper->out, item);
		err = looper_next(looper, item);
	}
	return err;
}

int looper_await(struct looper *looper, uint32_t cmd, struct returned *item)
{
	int err = looper_take(looper, item);

	while (!err && item->cmd == BR_TRANSACTION_COMPLETE && cmd != BR_TRANSACTION_COMPLETE)
		err = looper_take(looper, item);
	if (err)
		return err;
	return (cmd ? item->cmd == cmd : returned_ends_call(item)) ? 0 : -EPROTO;
}

void looper_free(struct looper *looper, const struct binder_transaction_data *txn)
{
	commands_put_u64(&looper->out, BC_FREE_BUFFER, txn->data.ptr.buffer);
}

int looper_call(struct looper *looper, const struct binder_transaction_data *call,
		struct returned *item)
{
	commands_put_call(&looper->out, call);
	return looper_await(looper, 0, item);
}

int looper_reply(struct looper *looper, const struct binder_transaction_data *reply)
{
	struct returned item;

	commands_put_reply(&looper->out, reply);
	return looper_await(looper, BR_TRANSACTION_COMPLETE, &item);
}
