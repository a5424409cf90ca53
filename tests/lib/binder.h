/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder: a raw client of the Binder ABI, for whatever tests or measures a driver without a client
 * library between. From the bottom up:
 *
 *	port      an open device and its mapping; one per open, for all threads (binder_port.h)
 *	commands  BC_ commands as the bytes of a write buffer
 *	returns   BR_ returns, one after the other, from the bytes of a read buffer
 *	payload   data, objects and offsets of a transaction to be sent, or received
 *	looper    one thread that uses a port: queued commands, unread returns, calls and replies
 *
 * Functions that return int return 0 or -errno. None of them prints, ends the process or allocates
 * memory. binder.c needs nothing of a C library but memcpy(); the functions that make system calls
 * are in binder_port.c, so a program without a library has the rest with a port of its own.
 *
 * Threads: a port may be used by many threads at once; everything else belongs to one thread.
 */
#ifndef TESTS_BINDER_H
#define TESTS_BINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/binder_port.h"
#include "tests/lib/uapi.h"

/* ---- port --------------------------------------------------------------------------------- */

/* An ioctl with a pointer to its argument. */
int port_ioctl(struct port *port, unsigned long cmd, void *arg);

/* Becomes the context manager, whose object (handle 0) accepts files. -EBUSY: there is one. */
int port_manage(struct port *port);

struct commands;
struct returns;

/*
 * One BINDER_WRITE_READ: writes the queued commands of @out (NULL: none), which is empty
 * afterwards, also after an error, except that after -EINTR it holds those that the driver did not
 * take: the same call again goes on with them. Then reads into @in (NULL: no read), and waits until
 * there is a return, unless the port is a non-blocking one: -EAGAIN. -ENOBUFS: the commands were
 * too many for the room of @out, and nothing was written; -EIO: the driver left some of them
 * unread.
 */
int port_write_read(struct port *port, struct commands *out, struct returns *in);

/* ---- commands ----------------------------------------------------------------------------- */

/* A write buffer: @size of @room bytes are used. The caller provides the bytes. */
struct commands {
	uint8_t *bytes;
	size_t size, room;
	bool overflowed; /* something did not fit, and was dropped */
};

/* Appends a command with its argument, of _IOC_SIZE(@cmd) bytes (NULL: it has none). */
void commands_put(struct commands *out, uint32_t cmd, const void *arg);
/* The same for an argument that is a handle or a number; a pointer, a cookie or a buffer. */
void commands_put_u32(struct commands *out, uint32_t cmd, uint32_t value);
void commands_put_u64(struct commands *out, uint32_t cmd, uint64_t value);
/* The same for an object of the sender (struct binder_ptr_cookie). */
void commands_put_ref(struct commands *out, uint32_t cmd, uint64_t ptr, uint64_t cookie);
/* The same for a notification that is requested or cleared (struct binder_handle_cookie). */
void commands_put_notice(struct commands *out, uint32_t cmd, uint32_t handle, uint64_t cookie);
/* Appends a call or a reply, and the same with room for the buffers of pointer objects. */
void commands_put_call(struct commands *out, const struct binder_transaction_data *call);
void commands_put_reply(struct commands *out, const struct binder_transaction_data *reply);
void commands_put_call_sg(struct commands *out, const struct binder_transaction_data_sg *call);
void commands_put_reply_sg(struct commands *out, const struct binder_transaction_data_sg *reply);
/* Appends bytes as they are, for malformed commands. */
void commands_put_bytes(struct commands *out, const void *bytes, size_t size);

/* ---- returns ------------------------------------------------------------------------------ */

/*
 * One return as it was read. @data, @offsets and @secctx are where the parts of a transaction or
 * reply can be read: in the mapping, until its buffer is freed, unless a client that keeps them
 * longer has put copies there. NULL in other returns.
 */
struct returned {
	uint32_t cmd;
	union {
		struct binder_transaction_data txn; /* BR_TRANSACTION, BR_REPLY */
		struct binder_transaction_data_secctx with_secctx; /* BR_TRANSACTION_SEC_CTX */
		struct binder_ptr_cookie ref;	    /* BR_INCREFS to BR_DECREFS */
		struct frozen_state frozen;	    /* BR_FROZEN_BINDER */
		binder_uintptr_t cookie;	    /* BR_DEAD_BINDER, BR_CLEAR_..._DONE */
		int32_t error;			    /* BR_ERROR */
	};
	const uint8_t *data;
	const binder_size_t *offsets;
	const char *secctx; /* of BR_TRANSACTION_SEC_CTX */
};

/* A read buffer: returns are taken from @at on; @size bytes were read; there is room for @room. */
struct returns {
	uint8_t *bytes;
	size_t at, size, room;
};

/*
 * Takes the next return. False: there is none; if in->at is not in->size then, what is left is no
 * whole return.
 */
bool returns_next(struct returns *in, struct returned *item);

/*
 * Queues what a client owes for a return: BC_INCREFS_DONE, BC_ACQUIRE_DONE, BC_DEAD_BINDER_DONE or
 * BC_FREEZE_NOTIFICATION_DONE. False: this return is not acknowledged.
 */
bool commands_acknowledge(struct commands *out, const struct returned *item);
/* Does it bring a payload: BR_TRANSACTION, BR_TRANSACTION_SEC_CTX, BR_REPLY? */
bool returned_is_payload(const struct returned *item);
/* Is it about the counts of an own object: BR_INCREFS, BR_ACQUIRE, BR_RELEASE, BR_DECREFS? */
bool returned_is_count(const struct returned *item);
/* Does it end a call: BR_REPLY, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_FROZEN_REPLY? */
bool returned_ends_call(const struct returned *item);

/* ---- payload ------------------------------------------------------------------------------ */

/* An object in a payload. */
union object {
	struct binder_object_header hdr;
	struct flat_binder_object flat;
	struct binder_fd_object fd;
	struct binder_fd_array_object fda;
	struct binder_buffer_object ptr;
};

/* Initialisers of objects: union object o = OBJ_HANDLE(3). */
#define OBJ_BINDER(ptr_, cookie_, ...)                                                       \
	{ .flat = { .hdr = { BINDER_TYPE_BINDER }, .binder = (ptr_), .cookie = (cookie_),    \
		    __VA_ARGS__ } }
#define OBJ_WEAK_BINDER(ptr_, cookie_)                                                       \
	{ .flat = { .hdr = { BINDER_TYPE_WEAK_BINDER }, .binder = (ptr_), .cookie = (cookie_) } }
#define OBJ_HANDLE(handle_) { .flat = { .hdr = { BINDER_TYPE_HANDLE }, .handle = (handle_) } }
#define OBJ_WEAK_HANDLE(handle_)                                                             \
	{ .flat = { .hdr = { BINDER_TYPE_WEAK_HANDLE }, .handle = (handle_) } }
#define OBJ_FD(fd_) { .fd = { .hdr = { BINDER_TYPE_FD }, .fd = (uint32_t)(fd_) } }
#define OBJ_PTR(buffer_, length_, ...)                                                       \
	{ .ptr = { .hdr = { BINDER_TYPE_PTR }, .buffer = (uintptr_t)(buffer_),               \
		   .length = (length_), __VA_ARGS__ } }
/* A buffer whose address is stored in the parent, an object of the same payload, at that offset. */
#define OBJ_CHILD(buffer_, length_, parent_, offset_)                                        \
	OBJ_PTR(buffer_, length_, .flags = BINDER_BUFFER_FLAG_HAS_PARENT, .parent = (parent_), \
		.parent_offset = (offset_))
#define OBJ_FDA(num_, parent_, offset_)                                                      \
	{ .fda = { .hdr = { BINDER_TYPE_FDA }, .num_fds = (num_), .parent = (parent_),       \
		   .parent_offset = (offset_) } }

/* The bytes of an object of this type; 0: no such type. */
size_t object_size(uint32_t type);

/*
 * A payload to be sent: @size of @room bytes of data, @nr of @max offsets. The caller provides both
 * arrays, which the driver reads when the command that refers to them is written. @buffers_size is
 * what the pointer objects need, for the _SG commands.
 */
struct payload {
	uint8_t *data;
	size_t size, room;
	binder_size_t *offsets;
	size_t nr, max;
	size_t buffers_size;
};

/* Appends bytes; false: no room. */
bool payload_add_bytes(struct payload *payload, const void *bytes, size_t size);
/*
 * Appends an object at the next multiple of eight, and its offset. One of an unknown type, for
 * malformed payloads, is as long as a flat one. False: no room.
 */
bool payload_add(struct payload *payload, const union object *object);
/* The argument of BC_TRANSACTION or BC_REPLY that sends it; the caller adds target, code, flags. */
struct binder_transaction_data payload_txn(const struct payload *payload);

/*
 * The @n-th object of a received payload; NULL: there is none, or not a whole one. Its address may
 * be a multiple of four only.
 */
const union object *returned_object(const struct returned *item, size_t n);

/* ---- looper ------------------------------------------------------------------------------- */

#define LOOPER_BYTES 1024

/*
 * One thread's use of a port. Commands are queued with commands_put...(&looper->out, ...); they are
 * written together with the next read, or by looper_flush(). The looper holds no pointer to memory
 * of its own but those to its two buffers, so it must not be copied.
 */
struct looper {
	struct port *port;
	struct commands out;
	struct returns in;
	uint8_t out_bytes[LOOPER_BYTES], in_bytes[LOOPER_BYTES];
};

void looper_init(struct looper *looper, struct port *port);

/* Writes what is queued, if anything is. As port_write_read(). */
int looper_flush(struct looper *looper);
/* Writes what is queued, and waits for returns. There must be no unread ones. */
int looper_read(struct looper *looper);
/*
 * The next return other than BR_NOOP. If no unread one is left, writes what is queued and reads,
 * again and again until there is one. -EPROTO: the driver returned what is no whole return.
 */
int looper_next(struct looper *looper, struct returned *item);
/*
 * The same, for a client that does not count: what is about the counts of its own objects is
 * acknowledged (by what is then queued) and passed over.
 */
int looper_take(struct looper *looper, struct returned *item);
/*
 * Takes returns until @cmd (0: whatever ends a call), and passes over BR_TRANSACTION_COMPLETE.
 * -EPROTO: @item is another return.
 */
int looper_await(struct looper *looper, uint32_t cmd, struct returned *item);

/*
 * Queues BC_FREE_BUFFER for the buffer of a received transaction or reply. It is valid until that
 * is written.
 */
void looper_free(struct looper *looper, const struct binder_transaction_data *txn);
/*
 * Writes what is queued and a call, and waits for its end; item->cmd says how it ended. -EPROTO: a
 * call was received instead. The caller frees the buffer of a BR_REPLY.
 */
int looper_call(struct looper *looper, const struct binder_transaction_data *call,
		struct returned *item);
/* Writes what is queued and a reply, and reads until it is accepted (BR_TRANSACTION_COMPLETE). */
int looper_reply(struct looper *looper, const struct binder_transaction_data *reply);

#endif
