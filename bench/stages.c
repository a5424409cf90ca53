// SPDX-License-Identifier: GPL-2.0
/*
 * Timestamps of the stages of a round trip that its two ends can see.
 *
 * C_SEND is just before the client's system call, S_RECV when the server's has returned with the
 * call, S_REPLY just before the system call with the reply, C_RECV when the client's has returned
 * with it, C_EXIT when the client has read it. The driver records the stages in between, by the
 * same clock, so that `anybinder bench stages` can combine them.
 */
#include "bench/fail.h"
#include "bench/payload.h"
#include "bench/peer.h"
#include "bench/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The most calls of one measurement. */
#define MAX_CALLS 100000

struct row {
	uint64_t send_ns, recv_ns, reply_ns, return_ns, exit_ns;
};

/* Shared by the two ends and the parent; each end fills its columns of row after row. */
struct record {
	int client, server;
	struct row rows[CELL_WARM_UP_CALLS + MAX_CALLS];
};

struct connection {
	struct wire wire;
	struct binder_transaction_data request;
	struct row *row;
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
	struct row *row = record->rows;
	struct wire wire;

	record->server = gettid();
	wire_open(&wire, cell->address, 0);
	registry_publish(&wire, 0);
	wire_put(&wire, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	for (;;) {
		wire_wait_call(&wire, &got);
		row->recv_ns = cell_now_ns();
		payload_read((const void *)(uintptr_t)got.data.ptr.buffer, got.data_size);
		wire_free(&wire, &got);
		row->reply_ns = cell_now_ns();
		row++;
		wire_reply(&wire, &reply);
	}
}

static void *stages_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = malloc(sizeof(*new));

	record->client = gettid();
	wire_open(&new->wire, cell->address, 0);
	new->request = wire_message(cell->request_bytes);
	new->request.target.handle = registry_lookup(&new->wire, 0);
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
	payload_read((const void *)(uintptr_t)answer.data.ptr.buffer, answer.data_size);
	wire_free(&mine->wire, &answer);
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
