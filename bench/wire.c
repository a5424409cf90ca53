// SPDX-License-Identifier: GPL-2.0
/*
 * A wire: the connection of one thread to a binder device.
 *
 * It makes the system calls that libbinder makes: a caller needs one BINDER_WRITE_READ per call,
 * which also frees the buffer of the previous reply; a server needs two, as the one that replies
 * returns at once with BR_TRANSACTION_COMPLETE, unless the reply has TF_DEFER_COMPLETE.
 */
#include "bench/wire.h"

#include "bench/cell.h"
#include "bench/fail.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static void check(int status, const char *what)
{
	if (status) {
		errno = -status;
		fail_errno("%s", what);
	}
}

void wire_open(struct wire *wire, const char *device, size_t map_bytes)
{
	struct binder_version version;
	uint32_t max_threads = 0;

	check(port_open(&wire->port, device, (struct port_options){ .map_bytes = map_bytes }),
	      device);
	check(port_ioctl(&wire->port, BINDER_VERSION, &version), device);
	check(port_ioctl(&wire->port, BINDER_SET_MAX_THREADS, &max_threads), device);
	looper_init(&wire->looper, &wire->port);
}

void wire_start_thread(const struct wire *first, void *(*run)(void *wire))
{
	struct wire *wire = new_zeroed(sizeof(*wire));
	pthread_t thread;

	wire->port = first->port;
	looper_init(&wire->looper, &wire->port);
	if (pthread_create(&thread, NULL, run, wire))
		fail("cannot start a thread");
}

void wire_close(struct wire *wire)
{
	check(port_close(&wire->port), "close");
}

struct binder_transaction_data wire_message(size_t bytes)
{
	return (struct binder_transaction_data){
		.code = 1,
		.data_size = bytes,
		.data.ptr.buffer = (uintptr_t)payload_new(bytes),
	};
}

struct flat_binder_object wire_own_object(uint64_t number)
{
	return (struct flat_binder_object){
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = 0x7f | FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = number,
		.cookie = number,
	};
}

struct binder_transaction_data wire_objects(uint32_t code,
					    const struct flat_binder_object *objects, size_t nr)
{
	static binder_size_t offsets[WIRE_OBJECTS];

	for (size_t i = 0; i < nr; i++)
		offsets[i] = i * sizeof(*objects);
	return (struct binder_transaction_data){
		.code = code,
		.data_size = nr * sizeof(*objects),
		.offsets_size = nr * sizeof(*offsets),
		.data.ptr.buffer = (uintptr_t)objects,
		.data.ptr.offsets = (uintptr_t)offsets,
	};
}

const struct flat_binder_object *wire_object(const struct binder_transaction_data *got,
					     uint32_t type)
{
	const struct flat_binder_object *object = (const void *)(uintptr_t)got->data.ptr.buffer;

	if (got->data_size != sizeof(*object) || object->hdr.type != type)
		fail("received no object of type 0x%x", type);
	return object;
}

void wire_write(struct wire *wire)
{
	check(looper_flush(&wire->looper), "BINDER_WRITE_READ");
}

void wire_next(struct wire *wire, struct returned *item)
{
	check(looper_take(&wire->looper, item), "BINDER_WRITE_READ");
}

/* Passes over what comes before nearly every reply: BR_NOOP, BR_TRANSACTION_COMPLETE. */
static void pass_over(struct returns *in, uint32_t wanted)
{
	uint32_t code;

	while (in->size - in->at >= sizeof(code)) {
		memcpy(&code, in->bytes + in->at, sizeof(code));
		if (code == wanted || (code != BR_NOOP && code != BR_TRANSACTION_COMPLETE))
			return;
		in->at += sizeof(code);
	}
}

/* Here and not looper_await(), because a loop that is measured must be short. */
static void await(struct wire *wire, uint32_t command, struct binder_transaction_data *got)
{
	struct looper *looper = &wire->looper;
	struct returned item;

	for (;;) {
		pass_over(&looper->in, command);
		while (returns_next(&looper->in, &item)) {
			if (item.cmd == command) {
				if (got)
					*got = item.txn;
				return;
			}
			if (!returned_is_count(&item))
				fail("unexpected return 0x%x instead of 0x%x", item.cmd, command);
			commands_acknowledge(&looper->out, &item);
			pass_over(&looper->in, command);
		}
		check(looper_read(looper), "BINDER_WRITE_READ");
	}
}

void wire_wait_call(struct wire *wire, struct binder_transaction_data *got)
{
	await(wire, BR_TRANSACTION, got);
}

void wire_wait_reply(struct wire *wire, struct binder_transaction_data *answer)
{
	await(wire, BR_REPLY, answer);
}

void wire_reply(struct wire *wire, const struct binder_transaction_data *reply)
{
	commands_put_reply(&wire->looper.out, reply);
	if (!(reply->flags & TF_DEFER_COMPLETE))
		await(wire, BR_TRANSACTION_COMPLETE, NULL);
}

void wire_call(struct wire *wire, const struct binder_transaction_data *call,
	       struct binder_transaction_data *answer)
{
	commands_put_call(&wire->looper.out, call);
	wire_wait_reply(wire, answer);
}

/*
 * The registry: a context manager that finds servers by number.
 *
 * Clients of the benchmark find their servers as any client does: the server sends an object to
 * handle 0, the client requests it from handle 0. Only the messages differ: the code of a call is
 * the number.
 */

#define MAX_SERVERS 65536
#define PUBLISH 0x10000u	/* in the code: the call brings the server */

void registry_assist(void *state, const struct cell *cell)
{
	static uint32_t handles[MAX_SERVERS];
	struct wire wire;

	wire_open(&wire, cell->address, 0);
	if (port_manage(&wire.port))
		fail("%s has a context manager, or none is possible", cell->address);
	commands_put(&wire.looper.out, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	for (;;) {
		struct binder_transaction_data got, reply = wire_objects(0, NULL, 0);
		struct flat_binder_object found = { .hdr.type = BINDER_TYPE_HANDLE };
		uint32_t *handle;

		wire_wait_call(&wire, &got);
		if (got.code >= 2 * PUBLISH)
			fail("the registry received a malformed call");
		handle = &handles[got.code % PUBLISH];
		if (got.code >= PUBLISH) {
			*handle = wire_object(&got, BINDER_TYPE_HANDLE)->handle;
			commands_put_u32(&wire.looper.out, BC_ACQUIRE, *handle);
		} else {
			found.handle = *handle;
			reply = wire_objects(0, &found, 1);
		}
		looper_free(&wire.looper, &got);
		wire_reply(&wire, &reply);
	}
}

void registry_publish(struct wire *wire, uint32_t number)
{
	struct flat_binder_object object = wire_own_object(number + 1);
	struct binder_transaction_data call = wire_objects(PUBLISH + number, &object, 1), answer;

	wire_call(wire, &call, &answer);
	looper_free(&wire->looper, &answer);
}

uint32_t registry_lookup(struct wire *wire, uint32_t number)
{
	struct binder_transaction_data call = wire_objects(number, NULL, 0), answer;
	uint32_t handle;

	wire_call(wire, &call, &answer);
	handle = wire_object(&answer, BINDER_TYPE_HANDLE)->handle;
	commands_put_u32(&wire->looper.out, BC_ACQUIRE, handle);
	looper_free(&wire->looper, &answer);
	return handle;
}
