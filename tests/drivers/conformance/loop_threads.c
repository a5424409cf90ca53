// SPDX-License-Identifier: GPL-2.0
/* Looper threads: when the driver requests another one, and what the looper commands do. */
#include "expect.h"
#include "test.h"

static void set_max_threads(struct client *client, uint32_t max)
{
	EXPECT_OK(client_ioctl(client, BINDER_SET_MAX_THREADS, &max));
}

/* A manager in the loop with this max_threads. */
static struct client *server_new(uint32_t max)
{
	struct client *server = manager_new();

	set_max_threads(server, max);
	return server;
}

TEST(looper_spawn_when_no_thread_waits,
     "A read that leaves no thread waiting begins with BR_SPAWN_LOOPER in place of BR_NOOP.")
{
	struct client *server = server_new(1), *client = client_new();

	call_oneway(client, 0);
	EXPECT_OK(read_once(server, READ_SIZE));
	EXPECT_EQ(server->in.size, 4 + 4 + sizeof(struct binder_transaction_data));
	EXPECT_EQ(*(uint32_t *)server->in.bytes, BR_SPAWN_LOOPER);
	expect(server, BR_SPAWN_LOOPER);
	expect(server, BR_TRANSACTION);
}

TEST(looper_spawn_is_asked_once, "Until a requested thread has registered no other is requested.")
{
	struct client *server = server_new(5), *client = client_new();

	call(client, 0);
	expect(server, BR_SPAWN_LOOPER);
	complete_call(server, expect(server, BR_TRANSACTION), client);
	round_trip(client, 0, server);
}

TEST(looper_spawn_until_max, "Threads are requested one by one until max_threads have registered.")
{
	struct client *server = server_new(2), *client = client_new();

	for (int i = 0; i < 2; i++) {
		call(client, 0);
		expect(server, BR_SPAWN_LOOPER);
		complete_call(server, expect(server, BR_TRANSACTION), client);
		send_cmd(client_thread(server), BC_REGISTER_LOOPER);
	}
	round_trip(client, 0, server);
}

TEST(looper_no_spawn_by_default, "With max_threads 0, the default, no thread is requested.")
{
	struct client *server = manager_new(), *client = client_new();

	call_oneway(client, 0);
	EXPECT_OK(read_once(server, READ_SIZE));
	EXPECT_EQ(*(uint32_t *)server->in.bytes, BR_NOOP);
}

TEST(looper_no_spawn_while_one_waits, "No thread is requested while another one waits for work.")
{
	struct client *server = manager_open((struct client_options){ .blocking = true });
	struct client *waiting = client_thread(server), *client = client_new();

	set_max_threads(server, 5);
	send_cmd(waiting, BC_ENTER_LOOPER);
	read_begin(waiting);
	EXPECT_EQ(read_end(waiting, 50), -EINPROGRESS);
	read_begin(server);
	EXPECT_EQ(read_end(server, 50), -EINPROGRESS);
	call_oneway(client, 0);
	EXPECT_OK(read_end(server, STEP_TIMEOUT_MS));
	EXPECT_EQ(*(uint32_t *)server->in.bytes, BR_NOOP);
	expect(server, BR_TRANSACTION);
}

TEST(looper_no_spawn_outside_the_loop,
     "A thread that has not entered the loop gets no spawn request.")
{
	struct client *server = server_new(5), *thread = client_thread(server);
	struct client *client = client_new();

	call_oneway(client, 0);
	EXPECT_OK(read_once(thread, READ_SIZE));
	EXPECT_EQ(*(uint32_t *)thread->in.bytes, BR_NOOP);
	expect(thread, BR_TRANSACTION);
}

TEST(looper_exit_changes_nothing,
     "A thread that wrote BC_EXIT_LOOPER still gets spawn requests and work.")
{
	struct client *server = server_new(5), *client = client_new();

	send_cmd(server, BC_EXIT_LOOPER);
	call_oneway(client, 0);
	expect(server, BR_SPAWN_LOOPER);
	expect(server, BR_TRANSACTION);
}

TEST(looper_registered_may_ask, "A registered thread gets spawn requests as an entered one does.")
{
	struct client *server = server_new(2), *thread = client_thread(server);
	struct client *client = client_new();

	call_oneway(client, 0);
	expect(server, BR_SPAWN_LOOPER);
	free_buffer(server, expect(server, BR_TRANSACTION));
	send_cmd(thread, BC_REGISTER_LOOPER);
	call_oneway(client, 0);
	expect(thread, BR_SPAWN_LOOPER);
	expect(thread, BR_TRANSACTION);
}

TEST(looper_unasked_register_still_works,
     "BC_REGISTER_LOOPER without BR_SPAWN_LOOPER does not fail; the thread gets work.")
{
	struct client *server = client_new(), *client = client_new();

	become_manager(server);
	send_cmd(server, BC_REGISTER_LOOPER);
	send_cmd(server, BC_REGISTER_LOOPER);
	send_cmd(server, BC_ENTER_LOOPER);
	round_trip(client, 0, server);
}

TEST(looper_unasked_register_counts_for_nothing,
     "A thread that registers without a request does not count against max_threads.")
{
	struct client *server = server_new(1), *client = client_new();

	send_cmd(client_thread(server), BC_REGISTER_LOOPER);
	call_oneway(client, 0);
	expect(server, BR_SPAWN_LOOPER);
}

TEST(looper_enter_counts_for_nothing,
     "Threads that entered by themselves do not count against max_threads.")
{
	struct client *server = server_new(1), *client = client_new();

	send_cmd(client_thread(server), BC_ENTER_LOOPER);
	send_cmd(client_thread(server), BC_ENTER_LOOPER);
	call_oneway(client, 0);
	expect(server, BR_SPAWN_LOOPER);
}

TEST(looper_spawn_with_any_return, "BR_SPAWN_LOOPER also comes with returns other than a call.")
{
	struct client *server = server_new(1);

	call(server, 99);
	EXPECT_OK(read_once(server, READ_SIZE));
	EXPECT_EQ(*(uint32_t *)server->in.bytes, BR_SPAWN_LOOPER);
	expect(server, BR_SPAWN_LOOPER);
	expect(server, BR_FAILED_REPLY);
}

/* A server and a client that exchange calls as fast as they can, as libraries do. */

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
