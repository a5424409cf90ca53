/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A wire: one thread's connection to a binder device, without any library.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <linux/android/binder.h>
#include <stddef.h>
#include <stdint.h>

/* What libbinder maps: a megabyte less two guard pages. */
#define WIRE_MAP_BYTES ((1u << 20) - 2 * 4096)

struct wire {
	int fd;
	uint8_t out[512], in[512];	/* command stream to go, return stream that came */
	size_t out_bytes, in_bytes, in_at;
};

/* Opens @device, maps @map_bytes of buffers. Ends the process on any failure, like all here. */
void wire_open(struct wire *wire, const char *device, size_t map_bytes);

/* Queues @command with @bytes of @argument for the next wire_talk(). */
void wire_put(struct wire *wire, uint32_t command, const void *argument, size_t bytes);

/* Queues BC_FREE_BUFFER of a buffer that a transaction or a reply came in. */
void wire_free(struct wire *wire, binder_uintptr_t buffer);

/* One BINDER_WRITE_READ: sends what is queued, sleeps until something is there to read. */
void wire_talk(struct wire *wire);

/*
 * Talks until a transaction or a reply has come (in @got) and all that came with it is read.
 * Answers reference counts of the thread's own objects on the way. Returns BR_TRANSACTION or
 * BR_REPLY.
 */
uint32_t wire_wait(struct wire *wire, struct binder_transaction_data *got);

/* Sends a reply (with what is queued before it) and reads until the driver has taken it. */
void wire_reply(struct wire *wire, const struct binder_transaction_data *reply);

/* Sends a call (with what is queued before it) and sleeps until its answer is there. */
void wire_call(struct wire *wire, const struct binder_transaction_data *call,
	       struct binder_transaction_data *answer);

#endif
