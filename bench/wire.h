/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A wire: the connection of one thread to a binder device, by the raw client of the tests. Every
 * failure ends the process.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "tests/lib/binder.h"

/* Must not be moved. */
struct wire {
	struct port port;
	struct looper looper;
};

/* Opens @device and maps @map_bytes of buffers, 0: as many as libbinder does. */
void wire_open(struct wire *wire, const char *device, size_t map_bytes);

/* The wire of another thread of the process that opened @first. */
void wire_share(struct wire *wire, const struct wire *first);

/* Unmaps the buffers and closes the device. */
void wire_close(struct wire *wire);

/* A call or reply that carries @bytes of payload. */
struct binder_transaction_data wire_message(size_t bytes);

/* Queues @command with its argument for the next read or write. */
void wire_put(struct wire *wire, uint32_t command, const void *argument);

/* Queues BC_FREE_BUFFER for the buffer of a received transaction or reply. */
void wire_free(struct wire *wire, const struct binder_transaction_data *got);

/* One BINDER_WRITE_READ that only sends the queued commands. */
void wire_write(struct wire *wire);

/* The next return; those of references to the thread's own objects are acknowledged. */
void wire_next(struct wire *wire, struct returned *item);

/* Reads returns until a transaction is received. */
void wire_wait_call(struct wire *wire, struct binder_transaction_data *got);

/* Reads returns until the reply to a queued call is received. */
void wire_wait_reply(struct wire *wire, struct binder_transaction_data *answer);

/* Sends the queued commands and a reply, and reads until BR_TRANSACTION_COMPLETE. */
void wire_reply(struct wire *wire, const struct binder_transaction_data *reply);

/* Sends the queued commands and a call, and sleeps until its reply is received. */
void wire_call(struct wire *wire, const struct binder_transaction_data *call,
	       struct binder_transaction_data *answer);

#endif
