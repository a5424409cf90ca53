// SPDX-License-Identifier: GPL-2.0
/*
 * A binder call, raw: the system calls that libbinder would make and nothing else.
 */
#include "bench/fail.h"
#include "bench/payload.h"
#include "bench/peer.h"
#include "bench/registry.h"
#include "bench/stage.h"

#include <stdlib.h>

struct connection {
	struct wire wire;
	struct binder_transaction_data request;
	size_t reply_bytes;
};

/* libbinder's size, unless a payload would not fit twice. */
static size_t map_bytes(size_t payload_bytes)
{
	size_t needed = 2 * payload_bytes + 4096;

	return needed <= WIRE_MAP_BYTES ? WIRE_MAP_BYTES : (needed + 4095) / 4096 * 4096;
}

static struct binder_transaction_data data_of(size_t bytes)
{
	return (struct binder_transaction_data){
		.code = 1,
		.data_size = bytes,
		.data.ptr.buffer = (uintptr_t)payload_new(bytes),
	};
}

static void *binder_prepare(const struct cell *cell)
{
	if (!cell->address)
		fail("binder needs --address");
	return NULL;
}

static void binder_assist(void *state, const struct cell *cell)
{
	registry_run(cell->address, stage_up);
}

static void binder_serve(void *state, const struct cell *cell, int pair)
{
	struct binder_transaction_data reply = data_of(cell->reply_bytes), got;
	struct wire wire;

	wire_open(&wire, cell->address, map_bytes(cell->request_bytes));
	registry_publish(&wire, (uint64_t)pair);
	wire_put(&wire, BC_ENTER_LOOPER, NULL, 0);
	stage_up();
	for (;;) {
		if (wire_wait(&wire, &got) != BR_TRANSACTION)
			fail("server: not a call");
		if (got.data_size != cell->request_bytes)
			fail("server: %llu bytes", got.data_size);
		payload_read((const void *)(uintptr_t)got.data.ptr.buffer, got.data_size);
		wire_free(&wire, got.data.ptr.buffer);
		wire_reply(&wire, &reply);
	}
}

static void *binder_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = malloc(sizeof(*new));

	wire_open(&new->wire, cell->address, map_bytes(cell->reply_bytes));
	new->request = data_of(cell->request_bytes);
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
		fail("client: %llu bytes", answer.data_size);
	payload_read((const void *)(uintptr_t)answer.data.ptr.buffer, answer.data_size);
	wire_free(&mine->wire, answer.data.ptr.buffer);
}

const struct peer peer_binder = {
	.name = "binder",
	.prepare = binder_prepare,
	.assist = binder_assist,
	.serve = binder_serve,
	.connect = binder_connect,
	.call = binder_call,
};
