// SPDX-License-Identifier: GPL-2.0
/*
 * Many idle binder clients, for what each costs the driver: the open file, its buffer map, threads
 * that wait in the driver, and a reference or objects. Each makes calls first, so that what the
 * driver sets up late is counted too.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/wire.h"

/* What clients without objects of their own look up. */
#define COMMON_OBJECT 65535

static void *wait_for_call(void *arg)
{
	struct wire *wire = arg;
	struct binder_transaction_data got;

	commands_put(&wire->looper.out, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	wire_wait_call(wire, &got);
	fail("an idle process received a call");
}

static void idle_serve(void *state, const struct cell *cell, int pair)
{
	struct wire wire;

	wire_open(&wire, cell->address, 0);
	registry_publish(&wire, COMMON_OBJECT);
	for (int i = 0; i < cell->nr_references; i++)
		registry_publish(&wire, (uint32_t)i);
	wait_for_call(&wire);
}

/* Publishes the share of this client in all objects, or looks up the common one, and sleeps. */
static void *idle_connect(void *state, const struct cell *cell, int pair)
{
	int first = (int)((long)cell->nr_objects * pair / cell->nr_pairs);
	int end = (int)((long)cell->nr_objects * (pair + 1) / cell->nr_pairs);
	struct wire wire;

	wire_open(&wire, cell->address, 0);
	for (int i = first; i < end; i++)
		registry_publish(&wire, (uint32_t)i);
	if (first == end)
		registry_lookup(&wire, COMMON_OBJECT);
	for (int i = 0; i < cell->nr_references; i++)
		registry_lookup(&wire, (uint32_t)i);
	for (int i = 0; i < cell->nr_buffers; i++) {
		struct binder_transaction_data call = wire_objects(COMMON_OBJECT, NULL, 0), kept;

		wire_call(&wire, &call, &kept);
	}
	for (int i = 1; i < cell->nr_threads; i++)
		wire_start_thread(&wire, wait_for_call);
	return wait_for_call(&wire);
}

const struct peer peer_idle = {
	.name = "idle",
	.needs_address = true,
	.has_no_payload = true,
	.shares_server = true,
	.assist = registry_assist,
	.serve = idle_serve,
	.connect = idle_connect,
};
