// SPDX-License-Identifier: GPL-2.0
/* A server and a client that exchange calls as fast as they can, as libraries do. */
#include "expect.h"
#include "test.h"

#define CALLS 300

/* One side; in shared memory. */
struct side {
	struct looper looper;
	_Atomic uint32_t done; /* calls answered, or replies received */
	int err;
};

static void serve(void *arg)
{
	struct side *side = arg;
	struct returned got;

	commands_put(&side->looper.out, BC_ENTER_LOOPER, NULL);
	while (side->done < CALLS) {
		side->err = looper_await(&side->looper, BR_TRANSACTION, &got);
		if (side->err)
			break;
		looper_free(&side->looper, &got.txn);
		/* Waits, also the last time, when no other call follows. */
		side->err = looper_reply(&side->looper, &(struct binder_transaction_data){
								.code = got.txn.code });
		if (side->err)
			break;
		side->done++;
	}
}

static void make_calls(void *arg)
{
	struct side *side = arg;
	struct returned got;

	while (side->done < CALLS) {
		const struct binder_transaction_data call = { .code = side->done };

		side->err = looper_call(&side->looper, &call, &got);
		if (side->err || got.cmd != BR_REPLY || got.txn.code != side->done)
			break;
		looper_free(&side->looper, &got.txn);
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

	looper_init(&server->looper, manager->port);
	looper_init(&caller->looper, client->port);
	actor_start(manager->by, serve, server);
	actor_start(client->by, make_calls, caller);
	EXPECT(comes_to_its_end(client->by, caller));
	EXPECT(comes_to_its_end(manager->by, server));
	EXPECT_EQ(caller->err, 0);
	EXPECT_EQ(server->err, 0);
	EXPECT_EQ(caller->done, CALLS);
	EXPECT_EQ(server->done, CALLS);
}
