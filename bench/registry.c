// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: a context manager that finds servers by number.
 *
 * Clients of the benchmark find their servers as any client does: the server sends an object to
 * handle 0, the client requests it from handle 0. Only the messages differ: the code of a call is
 * the number.
 */
#include "bench/registry.h"

#include "bench/fail.h"

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
