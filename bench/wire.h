/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A wire: the connection of one thread to a binder device, by the raw client of the tests, with
 * whose functions commands are queued. Every failure ends the process.
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

/* Starts a thread of the process that opened @first; @run gets a wire of its own. */
void wire_start_thread(const struct wire *first, void *(*run)(void *wire));

/* Unmaps the buffers and closes the device. */
void wire_close(struct wire *wire);

/* A call or reply that carries @bytes of payload. */
struct binder_transaction_data wire_message(size_t bytes);

/* An object of the calling process. */
struct flat_binder_object wire_own_object(uint64_t number);

#define WIRE_OBJECTS 64

/* A call or reply that carries @nr objects, at most WIRE_OBJECTS. */
struct binder_transaction_data wire_objects(uint32_t code,
					    const struct flat_binder_object *objects, size_t nr);

/* The only object of a received call or reply; ends the process unless it is of @type. */
const struct flat_binder_object *wire_object(const struct binder_transaction_data *got,
					     uint32_t type);

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

/* ---- the registry: a context manager that finds servers by number ---- */

struct cell;

/*
 * The assist step of a binder peer: becomes the context manager of the cell's device and serves;
 * never returns. Ends the process on any failure, as all functions here do.
 */
void registry_assist(void *state, const struct cell *cell);

/* Publishes an object of the calling process as server @number, which is below 65,536. */
void registry_publish(struct wire *wire, uint32_t number);

/* Returns a handle with a strong reference to server @number, which must have been published. */
uint32_t registry_lookup(struct wire *wire, uint32_t number);

#endif
