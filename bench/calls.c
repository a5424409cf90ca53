// SPDX-License-Identifier: GPL-2.0
/*
 * Raw binder calls: only the system calls of libbinder, by four peers; cell.c has the loop.
 *
 * `binder`: what is compared with other IPC.
 *
 * `deferred`: the same with a server that sets TF_DEFER_COMPLETE.
 *
 * `stages`: the same with timestamps of the stages of a round trip that its two ends can see.
 * C_SEND is just before the client's system call, S_RECV when the server's has returned with the
 * call, S_REPLY just before the system call with the reply, C_RECV when the client's has returned
 * with it, C_EXIT when the client has read it. The driver records the stages in between, by the
 * same clock, so that `anybinder bench stages` can combine them.
 *
 * `alloc`: calls of mixed sizes from all clients to one server. They take their buffers from the
 * server's allocator, so its lock is shared by the most and the least urgent client. Where the
 * thread that holds it may sleep or be preempted, the urgent client waits until the other gets a
 * processor. Clients should pause between calls: a real-time client without pauses would leave the
 * others no time to be interrupted in the middle of a call. Sizes differ from call to call, in the
 * same pseudo-random order for every client, so that buffers are seldom where pages are still
 * mapped. A server thread for each client replies without data: the request is what is measured.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/wire.h"

#include <stdio.h>
#include <unistd.h>

struct row {
	uint64_t send_ns, recv_ns, reply_ns, return_ns, exit_ns;
};

struct connection {
	struct wire wire;
	struct binder_transaction_data request;
	size_t reply_bytes;
	struct row *row;	/* stages: that of the next call */
	uint32_t random;	/* alloc */
};

/* The size that libbinder maps, or more if the payload would not fit twice. */
static size_t map_bytes(size_t payload_bytes)
{
	size_t needed = 2 * payload_bytes + 4096;

	return needed <= PORT_MAP_BYTES ? PORT_MAP_BYTES : (needed + 4095) / 4096 * 4096;
}

/* Opens a server that clients find by its number. */
static void serve_as(struct wire *wire, const struct cell *cell, uint32_t number)
{
	wire_open(wire, cell->address, map_bytes(cell->request_bytes));
	registry_publish(wire, number);
}

static struct connection *connect_to(const struct cell *cell, uint32_t number)
{
	struct connection *new = new_zeroed(sizeof(*new));

	wire_open(&new->wire, cell->address, map_bytes(cell->reply_bytes));
	new->request = wire_message(cell->request_bytes);
	new->request.target.handle = registry_lookup(&new->wire, number);
	new->reply_bytes = cell->reply_bytes;
	return new;
}

static void read_and_free(struct wire *wire, const struct binder_transaction_data *got)
{
	payload_read((const void *)(uintptr_t)got->data.ptr.buffer, got->data_size);
	looper_free(&wire->looper, got);
}

/* ---- binder ------------------------------------------------------------------------------- */

static void binder_serve(void *state, const struct cell *cell, int pair)
{
	struct binder_transaction_data reply = wire_message(cell->reply_bytes), got;
	struct wire wire;

	if (state)
		reply.flags |= TF_DEFER_COMPLETE;
	serve_as(&wire, cell, (uint32_t)pair);
	commands_put(&wire.looper.out, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	for (;;) {
		wire_wait_call(&wire, &got);
		if (got.data_size != cell->request_bytes)
			fail("the server received %llu bytes instead of %zu", got.data_size,
			     cell->request_bytes);
		read_and_free(&wire, &got);
		wire_reply(&wire, &reply);
	}
}

static void *binder_connect(void *state, const struct cell *cell, int pair)
{
	return connect_to(cell, (uint32_t)pair);
}

static void binder_call(void *connection)
{
	struct connection *mine = connection;
	struct binder_transaction_data answer;

	wire_call(&mine->wire, &mine->request, &answer);
	if (answer.data_size != mine->reply_bytes)
		fail("the client received %llu bytes instead of %zu", answer.data_size,
		     mine->reply_bytes);
	read_and_free(&mine->wire, &answer);
}

#define BINDER_PEER(name_, prepare_)                                                          \
	{                                                                                     \
		.name = name_, .needs_address = true, .prepare = prepare_,                    \
		.assist = registry_assist, .serve = binder_serve, .connect = binder_connect,  \
		.call = binder_call,                                                          \
	}

/* A state, which is all that binder_serve() wants to know. */
static void *deferred_prepare(const struct cell *cell)
{
	return (void *)cell;
}

const struct peer peer_binder = BINDER_PEER("binder", NULL);
const struct peer peer_deferred = BINDER_PEER("deferred", deferred_prepare);

/* ---- stages ------------------------------------------------------------------------------- */

/* The most calls of one measurement. */
#define MAX_CALLS 100000

/* Shared by the two ends and the parent; each end fills its columns of row after row. */
struct record {
	int client, server;
	struct row rows[CELL_WARM_UP_CALLS + MAX_CALLS];
};

static struct record *record;

static void *stages_prepare(const struct cell *cell)
{
	if (cell->nr_calls < 1 || cell->nr_calls > MAX_CALLS || cell->nr_pairs != 1)
		fail("stages needs --pairs 1 and --calls from 1 to %d", MAX_CALLS);
	record = cell_shared_memory(sizeof(*record));
	return NULL;
}

static void stages_serve(void *state, const struct cell *cell, int pair)
{
	struct binder_transaction_data reply = wire_message(cell->reply_bytes), got;
	struct wire wire;

	record->server = gettid();
	serve_as(&wire, cell, 0);
	commands_put(&wire.looper.out, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	for (struct row *row = record->rows;; row++) {
		wire_wait_call(&wire, &got);
		row->recv_ns = cell_now_ns();
		read_and_free(&wire, &got);
		row->reply_ns = cell_now_ns();
		wire_reply(&wire, &reply);
	}
}

static void *stages_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = connect_to(cell, 0);

	record->client = gettid();
	new->row = record->rows;
	return new;
}

static void stages_call(void *connection)
{
	struct connection *mine = connection;
	struct binder_transaction_data answer;
	struct row *row = mine->row++;

	row->send_ns = cell_now_ns();
	wire_call(&mine->wire, &mine->request, &answer);
	row->return_ns = cell_now_ns();
	read_and_free(&mine->wire, &answer);
	row->exit_ns = cell_now_ns();
}

/*
 * The thread ids of the two ends and a row for each call, [C_SEND, S_RECV, S_REPLY, C_RECV,
 * C_EXIT], in ns of CLOCK_MONOTONIC.
 */
static void stages_report(const struct cell *cell)
{
	const char *before = "[";

	printf(", \"client\": %d, \"server\": %d, \"rows\": ", record->client, record->server);
	for (unsigned long i = 0; i < cell->nr_calls; i++) {
		const struct row *row = &record->rows[CELL_WARM_UP_CALLS + i];

		printf("%s[%lu, %lu, %lu, %lu, %lu]", before, row->send_ns, row->recv_ns,
		       row->reply_ns, row->return_ns, row->exit_ns);
		before = ", ";
	}
	putchar(']');
}

const struct peer peer_stages = {
	.name = "stages",
	.needs_address = true,
	.prepare = stages_prepare,
	.assist = registry_assist,
	.serve = stages_serve,
	.connect = stages_connect,
	.call = stages_call,
	.report = stages_report,
};

/* ---- alloc -------------------------------------------------------------------------------- */

#define MAX_BYTES (48u << 10)

/* Small ones, as in most calls, and some of up to a dozen pages. */
static const size_t sizes[] = { 16, 128, 512, 2048, 4096, 8192, 16384, MAX_BYTES };

static void *serve_thread(void *argument)
{
	struct binder_transaction_data reply = { .code = 1 }, got;
	struct wire *wire = argument;

	commands_put(&wire->looper.out, BC_ENTER_LOOPER, NULL);
	for (;;) {
		wire_wait_call(wire, &got);
		read_and_free(wire, &got);
		wire_reply(wire, &reply);
	}
	return NULL;
}

static void alloc_serve(void *state, const struct cell *cell, int pair)
{
	struct wire first;

	serve_as(&first, cell, 0);
	for (int i = 1; i < cell->nr_pairs; i++)
		wire_start_thread(&first, serve_thread);
	cell_process_ready();
	serve_thread(&first);
}

static void *alloc_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = connect_to(cell, 0);

	new->request.data.ptr.buffer = (uintptr_t)payload_new(MAX_BYTES);
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
	looper_free(&mine->wire.looper, &got);
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
