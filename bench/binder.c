// SPDX-License-Identifier: GPL-2.0
/*
 * A raw binder call: only the system calls that libbinder makes.
 */
#include "bench/fail.h"
#include "bench/payload.h"
#include "bench/peer.h"
#include "bench/registry.h"

#include <stdlib.h>

struct connection {
	struct wire wire;
	struct binder_transaction_data request;
	size_t reply_bytes;
};

/* The size that libbinder maps, or more if the payload would not fit twice. */
static size_t map_bytes(size_t payload_bytes)
{
	size_t needed = 2 * payload_bytes + 4096;

	return needed <= PORT_MAP_BYTES ? PORT_MAP_BYTES : (needed + 4095) / 4096 * 4096;
}

static void binder_serve(void *state, const struct cell *cell, int pair)
{
	struct binder_transaction_data reply = wire_message(cell->reply_bytes), got;
	struct wire wire;

	wire_open(&wire, cell->address, map_bytes(cell->request_bytes));
	registry_publish(&wire, (uint64_t)pair);
	wire_put(&wire, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	for (;;) {
		wire_wait_call(&wire, &got);
		if (got.data_size != cell->request_bytes)
			fail("the server received %llu bytes instead of %zu", got.data_size,
			     cell->request_bytes);
		payload_read((const void *)(uintptr_t)got.data.ptr.buffer, got.data_size);
		wire_free(&wire, &got);
		wire_reply(&wire, &reply);
	}
}

static void *binder_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = malloc(sizeof(*new));

	wire_open(&new->wire, cell->address, map_bytes(cell->reply_bytes));
	new->request = wire_message(cell->request_bytes);
	new->request.target.handle = registry_lookup(&new->wire, (uint64_t)pair);
	new->reply_bytes = cell->reply_bytes;
	return new;
}

static void binder_call(void *connection)
{
	struct connection *mine = connection;
	struct binder_transaction_data answer;

	wire_call(&mine->wire, &mine->request, &answer);
	if (answer.data_size != mine->reply_bytes)
		fail("the client received %llu bytes instead of %zu", answer.data_size,
		     mine->reply_bytes);
	payload_read((const void *)(uintptr_t)answer.data.ptr.buffer, answer.data_size);
	wire_free(&mine->wire, &answer);
}

const struct peer peer_binder = {
	.name = "binder",
	.needs_address = true,
	.assist = registry_assist,
	.serve = binder_serve,
	.connect = binder_connect,
	.call = binder_call,
};
