/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A wire: the connection of one thread to a binder device, without any library. Every failure ends
 * the process.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <linux/android/binder.h>
#include <stddef.h>
#include <stdint.h>

/* The size that libbinder maps: a megabyte less two guard pages. */
#define WIRE_MAP_BYTES ((1u << 20) - 2 * 4096)

struct wire {
	int fd;
	void *map;
	size_t map_bytes;
	uint8_t out[512], in[512];	/* queued commands, unread returns */
	size_t out_bytes, in_bytes, in_at;
};

/* Opens @device and maps @map_bytes of buffers. */
void wire_open(struct wire *wire, const char *device, size_t map_bytes);

/* Unmaps the buffers and closes the device. */
void wire_close(struct wire *wire);

/* A call or reply that carries @bytes of payload. */
struct binder_transaction_data wire_message(size_t bytes);

/* Queues @command with @bytes of @argument for the next wire_write_read(). */
void wire_put(struct wire *wire, uint32_t command, const void *argument, size_t bytes);

/* Queues BC_FREE_BUFFER for the buffer of a received transaction or reply. */
void wire_free(struct wire *wire, binder_uintptr_t buffer);

/* One BINDER_WRITE_READ that only sends the queued commands. */
void wire_write(struct wire *wire);

/* One BINDER_WRITE_READ: sends the queued commands and sleeps until there is a return to read. */
void wire_write_read(struct wire *wire);

/*
 * Takes the next return and its argument; if all were taken, after one wire_write_read().
 * @argument is valid until the next read.
 */
uint32_t wire_next(struct wire *wire, const void **argument);

/*
 * Reads returns until a transaction or a reply is received (in @got), and all that were read
 * with it. Acknowledges references to the thread's own objects. Returns BR_TRANSACTION or
 * BR_REPLY.
 */
uint32_t wire_wait(struct wire *wire, struct binder_transaction_data *got);

/* Sends the queued commands and a reply, and reads until BR_TRANSACTION_COMPLETE. */
void wire_reply(struct wire *wire, const struct binder_transaction_data *reply);

/* Sends the queued commands and a call, and sleeps until its reply is received. */
void wire_call(struct wire *wire, const struct binder_transaction_data *call,
	       struct binder_transaction_data *answer);

#endif
