// SPDX-License-Identifier: GPL-2.0
/*
 * Allocator contention: clients of several priorities send calls of mixed sizes to one server.
 *
 * All calls take their buffers from the server's allocator, so its lock is shared by the most and
 * the least urgent client. Where the thread that holds it may sleep or be preempted, the urgent
 * client waits until the other gets a processor. Clients pause between calls: a real-time client
 * without pauses would leave the others no time to be interrupted in the middle of a call. Sizes
 * differ from call to call, in the same pseudo-random order for every client, so that buffers
 * are seldom where pages are still mapped. A server thread for each client replies without data:
 * the request is what is measured. Reclaiming the pages is up to `anybinder bench alloc`.
 */
#include "bench/fail.h"
#include "bench/payload.h"
#include "bench/registry.h"
#include "bench/peer.h"

#include <pthread.h>
#include <stdlib.h>

#define MAX_BYTES (48u << 10)

/* Small ones, as in most calls, and some of up to a dozen pages. */
static const size_t sizes[] = { 16, 128, 512, 2048, 4096, 8192, 16384, MAX_BYTES };

struct connection {
	struct wire wire;
	struct binder_transaction_data request;
	uint32_t random;
};

static void *serve_thread(void *argument)
{
	struct binder_transaction_data reply = { .code = 1 }, got;
	struct wire *wire = argument;

	wire_put(wire, BC_ENTER_LOOPER, NULL);
	for (;;) {
		wire_wait_call(wire, &got);
		payload_read((const void *)(uintptr_t)got.data.ptr.buffer, got.data_size);
		wire_free(wire, &got);
		wire_reply(wire, &reply);
	}
	return NULL;
}

static void alloc_serve(void *state, const struct cell *cell, int pair)
{
	struct wire first;

	wire_open(&first, cell->address, 0);
	registry_publish(&first, 0);
	for (int i = 1; i < cell->nr_pairs; i++) {
		struct wire *other = calloc(1, sizeof(*other));
		pthread_t thread;

		if (!other)
			fail("no memory");
		wire_share(other, &first);
		if (pthread_create(&thread, NULL, serve_thread, other))
			fail("cannot start a thread");
	}
	cell_process_ready();
	serve_thread(&first);
}

static void *alloc_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = malloc(sizeof(*new));

	if (!new)
		fail("no memory");
	wire_open(&new->wire, cell->address, 0);
	new->request = (struct binder_transaction_data){
		.code = 1,
		.data.ptr.buffer = (uintptr_t)payload_new(MAX_BYTES),
		.target.handle = registry_lookup(&new->wire, 0),
	};
	new->random = 1;
	return new;
}

static void alloc_call(void *connection)
{
	struct connection *mine = connection;
	struct binder_transaction_data got;

	mine->random = mine->random * 1664525 + 1013904223;
	mine->request.data_size = sizes[mine->random >> 29];
	wire_call(&mine->wire, &mine->request, &got);
	wire_free(&mine->wire, &got);
}

const struct peer peer_alloc = {
	.name = "alloc",
	.needs_address = true,
	.shares_server = true,
	.assist = registry_assist,
	.serve = alloc_serve,
	.connect = alloc_connect,
	.call = alloc_call,
};
