// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: a context manager that finds servers by number.
 *
 * Clients of the benchmark find their servers as any client does: the server sends an object to
 * handle 0, the client requests it from handle 0. Only the messages differ.
 */
#include "bench/registry.h"

#include "bench/fail.h"

#include <stdbool.h>

#define MAX_SERVERS 65536

enum { PUBLISH = 1, LOOKUP };

struct message {
	uint64_t number;
	struct flat_binder_object object;
};

static const binder_size_t object_at = offsetof(struct message, object);

static struct binder_transaction_data data_of(uint32_t code, const struct message *message,
					      bool with_object)
{
	return (struct binder_transaction_data){
		.code = code,
		.data_size = sizeof(*message),
		.offsets_size = with_object ? sizeof(object_at) : 0,
		.data.ptr.buffer = (uintptr_t)message,
		.data.ptr.offsets = (uintptr_t)&object_at,
	};
}

void registry_run(const char *device, void (*ready)(void))
{
	static uint32_t handles[MAX_SERVERS];
	struct wire wire;

	wire_open(&wire, device, 0);
	if (port_manage(&wire.port))
		fail("%s has a context manager, or none is possible", device);
	wire_put(&wire, BC_ENTER_LOOPER, NULL);
	ready();
	for (;;) {
		struct binder_transaction_data got, reply;
		const struct message *message;
		struct message answer = { 0 };

		wire_wait_call(&wire, &got);
		message = (const void *)(uintptr_t)got.data.ptr.buffer;
		if (got.data_size != sizeof(*message) || message->number >= MAX_SERVERS)
			fail("the registry received a malformed call");
		answer.number = message->number;
		if (got.code == PUBLISH) {
			handles[message->number] = message->object.handle;
			wire_put(&wire, BC_ACQUIRE, &message->object.handle);
		}
		answer.object.hdr.type = BINDER_TYPE_HANDLE;
		answer.object.handle = handles[answer.number];
		wire_free(&wire, &got);
		reply = data_of(0, &answer, got.code == LOOKUP);
		wire_reply(&wire, &reply);
	}
}

void registry_assist(void *state, const struct cell *cell)
{
	registry_run(cell->address, cell_process_ready);
}

void registry_publish(struct wire *wire, uint64_t number)
{
	struct message message = {
		.number = number,
		.object = {
			.hdr.type = BINDER_TYPE_BINDER,
			.flags = 0x7f | FLAT_BINDER_FLAG_ACCEPTS_FDS,
			.binder = number + 1,
			.cookie = number + 1,
		},
	};
	struct binder_transaction_data call = data_of(PUBLISH, &message, true), answer;

	wire_call(wire, &call, &answer);
	wire_free(wire, &answer);
}

uint32_t registry_lookup(struct wire *wire, uint64_t number)
{
	struct message message = { .number = number };
	struct binder_transaction_data call = data_of(LOOKUP, &message, false), answer;
	const struct message *found;
	uint32_t handle;

	wire_call(wire, &call, &answer);
	found = (const void *)(uintptr_t)answer.data.ptr.buffer;
	if (answer.data_size != sizeof(*found) || found->object.hdr.type != BINDER_TYPE_HANDLE)
		fail("no server %llu is published", (unsigned long long)number);
	handle = found->object.handle;
	wire_put(wire, BC_ACQUIRE, &handle);
	wire_free(wire, &answer);
	return handle;
}
