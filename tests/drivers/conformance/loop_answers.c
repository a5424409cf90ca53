// SPDX-License-Identifier: GPL-2.0
/* A server and a client that exchange calls as fast as they can, as libraries do. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "expect.h"
#include "test.h"

#define CALLS 300

/* One side; in shared memory. */
struct side {
	int fd;
	uint8_t out[256], in[512];
	size_t out_size, in_size, in_at;
	_Atomic uint32_t done; /* calls answered, or replies received */
	int err;
};

static void queue(struct side *side, uint32_t cmd, const void *arg)
{
	memcpy(side->out + side->out_size, &cmd, sizeof(cmd));
	memcpy(side->out + side->out_size + sizeof(cmd), arg, _IOC_SIZE(cmd));
	side->out_size += sizeof(cmd) + _IOC_SIZE(cmd);
}

static void queue_txn(struct side *side, uint32_t cmd, uint32_t code)
{
	const struct binder_transaction_data txn = { .code = code };

	queue(side, cmd, &txn);
}

/* The next return; what has been read is used before more is read. 0: side->err is set. */
static uint32_t next(struct side *side, struct binder_transaction_data *txn)
{
	struct binder_write_read bwr = {
		.write_size = side->out_size, .write_buffer = (uintptr_t)side->out,
		.read_size = sizeof(side->in), .read_buffer = (uintptr_t)side->in,
	};
	uint32_t code;

	if (side->in_at == side->in_size) {
		if (ioctl(side->fd, BINDER_WRITE_READ, &bwr)) {
			side->err = -errno;
			return 0;
		}
		side->out_size = 0;
		side->in_size = bwr.read_consumed;
		side->in_at = 0;
	}
	memcpy(&code, side->in + side->in_at, sizeof(code));
	if (code == BR_TRANSACTION || code == BR_REPLY)
		memcpy(txn, side->in + side->in_at + sizeof(code), sizeof(*txn));
	side->in_at += sizeof(code) + _IOC_SIZE(code);
	return code;
}

/* Reads on until @wanted; false: it failed. */
static bool read_until(struct side *side, uint32_t wanted, struct binder_transaction_data *txn)
{
	uint32_t code;

	do {
		code = next(side, txn);
	} while (code && code != wanted);
	return code;
}

static void serve(void *arg)
{
	struct binder_transaction_data txn;
	struct side *side = arg;
	const uint32_t enter = BC_ENTER_LOOPER;

	queue(side, enter, &enter);
	while (side->done < CALLS && read_until(side, BR_TRANSACTION, &txn)) {
		queue(side, BC_FREE_BUFFER, &txn.data.ptr.buffer);
		queue_txn(side, BC_REPLY, txn.code);
		/* Also the last time, when no other call follows. */
		if (!read_until(side, BR_TRANSACTION_COMPLETE, &txn))
			break;
		side->done++;
	}
}

static void make_calls(void *arg)
{
	struct binder_transaction_data txn;
	struct side *side = arg;

	while (side->done < CALLS) {
		queue_txn(side, BC_TRANSACTION, side->done);
		if (!read_until(side, BR_REPLY, &txn) || txn.code != side->done)
			break;
		queue(side, BC_FREE_BUFFER, &txn.data.ptr.buffer);
		side->done++;
	}
}

/* How long all calls take does not matter: it fails when there is no progress. */
static bool comes_to_its_end(struct actor *actor, struct side *side)
{
	uint32_t before;

	do {
		before = side->done;
		if (actor_wait(actor, STEP_TIMEOUT_MS))
			return true;
	} while (side->done != before);
	return false;
}

TEST(wait_is_over_when_no_call_follows,
     "A server that has answered quick calls one after the other gets the completion of its "
     "last reply even if no other call follows.")
{
	struct client *manager = manager_open((struct client_options){ .blocking = true });
	struct client *client = client_open((struct client_options){ .blocking = true });
	struct side *server = shared_alloc(sizeof(*server));
	struct side *caller = shared_alloc(sizeof(*caller));

	server->fd = manager->fd;
	caller->fd = client->fd;
	actor_start(manager->by, serve, server);
	actor_start(client->by, make_calls, caller);
	EXPECT(comes_to_its_end(client->by, caller));
	EXPECT(comes_to_its_end(manager->by, server));
	EXPECT_EQ(caller->err, 0);
	EXPECT_EQ(server->err, 0);
	EXPECT_EQ(caller->done, CALLS);
	EXPECT_EQ(server->done, CALLS);
}
