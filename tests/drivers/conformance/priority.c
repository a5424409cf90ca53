// SPDX-License-Identifier: GPL-2.0
/*
 * A call is served at the nice value of its caller, or at the minimum that the object requests;
 * the reply restores the server's own.
 */
#include "actor_scheduling.h"
#include "expect.h"
#include "test.h"

/* A pair of sched_pair_new() whose caller has another nice value. */
static struct sched_pair begin(int caller, uint32_t flags)
{
	struct sched_pair s = sched_pair_new(flags);

	sched_set_nice(s.caller, caller);
	return s;
}

/* One call of a caller at this nice value finds the server at that one. */
static void expect_served_at(struct sched_pair *s, int caller, int served)
{
	const struct returned *got;

	sched_set_nice(s->caller, caller);
	got = sched_pair_serve(s);
	expect_nice(s->server, served);
	sched_pair_end(s, got);
}

TEST(priority_of_the_caller, "A call is served at the caller's nice value, be it higher or lower.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	expect_served_at(&s, 10, 10);
	expect_served_at(&s, -10, -10);
	expect_served_at(&s, 19, 19);
	expect_served_at(&s, -20, -20);
	expect_served_at(&s, 0, 0);
}

TEST(priority_goes_back_with_the_reply, "With its reply the server gets its own nice value back.")
{
	struct sched_pair s = begin(-7, MIN_NICE(19));
	const struct returned *got = sched_pair_serve(&s);

	expect_nice(s.server, -7);
	reply(s.server);
	expect_nice(s.server, 0);
	free_buffer(s.server, got);
	expect(s.server, BR_TRANSACTION_COMPLETE);
	finish_call(s.caller);
	expect_nice(s.caller, -7);
}

TEST(priority_goes_back_over_a_change,
     "The server's nice value is restored even if the server has changed it meanwhile.")
{
	struct sched_pair s = begin(-7, MIN_NICE(19));
	const struct returned *got = sched_pair_serve(&s);

	sched_set_nice(s.server, 12);
	sched_pair_end(&s, got);
	expect_nice(s.server, 0);
}

TEST(priority_stays_until_the_reply,
     "Freeing the buffer, or reading further, does not restore the server's nice value.")
{
	struct sched_pair s = begin(-7, MIN_NICE(19));
	const struct returned *got = sched_pair_serve(&s);

	free_buffer(s.server, got);
	expect_nothing(s.server);
	expect_nice(s.server, -7);
	reply(s.server);
	expect(s.server, BR_TRANSACTION_COMPLETE);
	finish_call(s.caller);
	expect_nice(s.server, 0);
}

TEST(priority_of_a_failed_reply,
     "A reply that fails at the caller restores the server's nice value, too.")
{
	struct sched_pair s = begin(-7, MIN_NICE(19));

	sched_pair_serve(&s);
	reply(s.server, .buffer = 8, .data_size = 8);
	expect(s.server, BR_TRANSACTION_COMPLETE);
	expect_sent(s.caller, BR_FAILED_REPLY);
	expect_nice(s.server, 0);
}

TEST(priority_when_the_caller_dies,
     "A reply to a dead caller restores the server's nice value, too.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));
	struct client *other = client_new();
	uint32_t handle;

	/* the manager passes the object on, so that it can outlive the caller */
	sched_set_nice(other, -7);
	call(other, 0);
	free_buffer(s.caller, expect(s.caller, BR_TRANSACTION));
	reply(s.caller, .objects = { OBJ_HANDLE(s.handle) });
	expect(s.caller, BR_TRANSACTION_COMPLETE);
	handle = object_at(expect_sent(other, BR_REPLY), 0)->flat.handle;
	call_received(other, handle, s.server);
	expect_nice(s.server, -7);
	client_kill_and_wait(other);
	expect_nice(s.server, -7);
	reply(s.server);
	expect(s.server, BR_TRANSACTION_COMPLETE);
	expect_nice(s.server, 0);
}

TEST(priority_at_least_the_nodes,
     "A less urgent caller is served at the minimum that the object requests.")
{
	struct sched_pair s = begin(0, MIN_NICE(7));

	expect_served_at(&s, 10, 7);
	expect_served_at(&s, 8, 7);
	expect_served_at(&s, 6, 6);
	expect_served_at(&s, -6, -6);
}

TEST(priority_of_a_plain_object, "An object without flags requests nice 0.")
{
	struct sched_pair s = begin(0, 0);

	expect_served_at(&s, 10, 0);
	expect_served_at(&s, -10, -10);
}

TEST(priority_first_flags_hold, "The flags of an object are those it was first sent with.")
{
	struct sched_pair s = begin(0, MIN_NICE(5));

	EXPECT_EQ(give(s.server, s.caller, 0x10, 0x20, MIN_NICE(-5)), s.handle);
	expect_served_at(&s, 10, 5);
}

TEST(priority_odd_least, "A requested minimum that is no nice value is ignored.")
{
	static const uint8_t odd[] = { 20, 100, 127, 128, 200 };
	struct sched_pair s = begin(0, 0);

	for (size_t i = 0; i < sizeof(odd); i++) {
		s.handle = give(s.server, s.caller, 0x100 + i, 0x20, odd[i]);
		expect_served_at(&s, 10, 10);
		expect_served_at(&s, 19, 19);
	}
}

TEST(priority_of_the_manager, "Calls to a plain context manager are served at nice 0 at least.")
{
	struct client *manager, *client;
	const struct returned *got;

	sched_need();
	manager = manager_new();
	client = client_new();
	sched_set_nice(client, 8);
	got = call_received(client, 0, manager);
	expect_nice(manager, 0);
	complete_call(manager, got, client);
	sched_set_nice(client, -8);
	call_received(client, 0, manager);
	expect_nice(manager, -8);
}

/* ---- the default of a process ---------------------------------------------- */

TEST(priority_default_before_process_work,
     "A thread that reads for the process returns to the nice value of its open.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	sched_set_nice(s.server, 6);
	expect_nothing(s.server);
	expect_nice(s.server, 0);
	sched_set_nice(s.server, -6);
	expect_nothing(s.server);
	expect_nice(s.server, 0);
}

TEST(priority_default_is_of_the_open,
     "The nice value of the open is that of the opening thread at that time.")
{
	struct client *first, *client;

	sched_need();
	first = client_new();
	sched_set_nice(first, 6);
	client = client_again(first);
	sched_set_nice(client, 2);
	send_cmd(client, BC_ENTER_LOOPER);
	expect_nothing(client);
	expect_nice(client, 6);
	expect_nothing(first);
	expect_nice(first, 0);
}

TEST(priority_default_after_a_reply,
     "A thread that has changed its nice value since its reply returns to that of the open, too.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	sched_pair_end(&s, sched_pair_serve(&s));
	sched_set_nice(s.server, 6);
	expect_nothing(s.server);
	expect_nice(s.server, 0);
}

TEST(priority_default_of_another_thread,
     "The other threads of the process return to the nice value of the open, too.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));
	struct client *thread = client_thread(s.server);

	sched_set_nice(thread, 4);
	send_cmd(thread, BC_REGISTER_LOOPER);
	expect_nice(thread, 4);
	expect_nothing(thread);
	expect_nice(thread, 0);
}

TEST(priority_default_while_a_call_is_open,
     "A thread that waits for a reply, or serves a call, keeps its priority.")
{
	struct sched_pair s = begin(5, MIN_NICE(19));
	const struct returned *got = sched_pair_serve(&s);

	sched_set_nice(s.caller, 3);
	expect_nothing(s.caller);
	expect_nice(s.caller, 3);
	sched_set_nice(s.server, 8);
	expect_nothing(s.server);
	expect_nice(s.server, 8);
	sched_pair_end(&s, got);
	expect_nice(s.caller, 3);
}

TEST(priority_default_not_by_own_work, "A thread that finds work of its own keeps its priority.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	call_oneway(s.caller, s.handle);
	sched_set_nice(s.caller, 3);
	expect(s.caller, BR_TRANSACTION_COMPLETE);
	expect_nice(s.caller, 3);
	expect(s.server, BR_TRANSACTION);
}

TEST(priority_default_not_by_writes, "Writing alone changes no priority.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	sched_set_nice(s.server, 6);
	send_cmd(s.server, BC_ENTER_LOOPER);
	expect_nice(s.server, 6);
}

/* ---- one-way calls ---------------------------------------------------------- */

TEST(priority_oneway_carries_none, "A one-way call does not bring its sender's nice value.")
{
	struct sched_pair s = begin(-7, MIN_NICE(19));

	call_oneway(s.caller, s.handle);
	expect(s.server, BR_TRANSACTION);
	expect_nice(s.server, 0);
}

TEST(priority_oneway_takes_the_nodes_least,
     "The object's minimum applies to one-way calls, until the thread reads for the process "
     "again.")
{
	struct client *manager, *server;
	uint32_t handle;

	/* the server was opened at 12 */
	sched_need();
	manager = manager_new();
	server = client_new();
	sched_set_nice(server, 12);
	server = client_again(server);
	handle = give(server, manager, 0x10, 0x20, MIN_NICE(3));
	call_oneway(manager, handle);
	free_buffer(server, expect(server, BR_TRANSACTION));
	expect_nice(server, 3);
	expect_nothing(server);
	expect_nice(server, 12);
}

TEST(priority_oneway_least_is_no_most,
     "A thread that is more urgent than the object's minimum keeps its nice value.")
{
	struct sched_pair s = begin(10, MIN_NICE(3));

	call_oneway(s.caller, s.handle);
	expect(s.server, BR_TRANSACTION);
	expect_nice(s.server, 0);
}

/* ---- nested calls ------------------------------------------------------------ */

TEST(priority_is_passed_on, "A nested call passes the inherited nice value on.")
{
	struct client *first, *middle, *last;
	const struct returned *at_middle, *at_last;
	uint32_t handle;

	sched_need();
	middle = manager_open((struct client_options){ 0 });
	last = client_new();
	first = client_new();
	handle = give(last, middle, 0x10, 0x20, MIN_NICE(19));
	sched_set_nice(first, -11);
	at_middle = call_received(first, 0, middle);
	at_last = call_received(middle, handle, last);
	expect_nice(last, -11);
	answer(last, at_last);
	expect_nice(last, 0);
	finish_call(middle);
	expect_nice(middle, -11);
	answer(middle, at_middle);
	expect_nice(middle, 0);
	finish_call(first);
}

TEST(priority_of_a_callback,
     "A callback is served at the server's nice value; afterwards the caller's own is restored.")
{
	struct sched_pair s = begin(4, MIN_NICE(19));
	const struct returned *outer, *inner;
	uint32_t back;

	put_txn(s.caller, (struct txn){ .handle = s.handle,
					.objects = { OBJ_BINDER(0x50, 0x60, .flags = 19) } });
	flush(s.caller);
	outer = expect(s.server, BR_TRANSACTION);
	back = object_at(outer, 0)->flat.handle;
	expect_nice(s.server, 4);
	sched_set_nice(s.server, -12);
	call(s.server, back);
	inner = expect_sent(s.caller, BR_TRANSACTION);
	expect_nice(s.caller, -12);
	answer(s.caller, inner);
	expect_nice(s.caller, 4);
	finish_call(s.server);
	expect_nice(s.server, -12);
	answer(s.server, outer);
	expect_nice(s.server, 0);
	free_buffer(s.caller, expect(s.caller, BR_REPLY));
}

/* ---- other policies ------------------------------------------------------------ */

TEST(priority_of_a_realtime_caller,
     "A real-time caller counts as nice 0 if the object does not allow inheriting more.")
{
	static const int policies[] = { SCHED_FIFO, SCHED_RR };
	struct client *manager, *server;
	const struct returned *got;
	uint32_t handle;

	/* the server was opened at 5 */
	sched_need();
	manager = manager_new();
	server = client_new();
	sched_set_nice(server, 5);
	server = client_again(server);
	handle = give(server, manager, 0x10, 0x20, MIN_NICE(19));
	for (int i = 0; i < 2; i++) {
		sched_set(manager, policies[i], 20);
		got = call_received(manager, handle, server);
		expect_nice(server, 0);
		answer(server, got);
		expect_nice(server, 5);
		finish_call(manager);
	}
}

TEST(priority_of_a_batch_caller,
     "Of a SCHED_BATCH or SCHED_IDLE caller only the nice value counts.")
{
	static const int policies[] = { SCHED_BATCH, SCHED_IDLE };
	struct sched_pair s = begin(0, MIN_NICE(19));
	const struct returned *got;

	for (int i = 0; i < 2; i++) {
		sched_set(s.caller, policies[i], 0);
		sched_set_nice(s.caller, 7 + i);
		got = sched_pair_serve(&s);
		expect_nice(s.server, 7 + i);
		sched_pair_end(&s, got);
	}
}

TEST(priority_of_a_batch_server, "A SCHED_BATCH or SCHED_IDLE server keeps its policy.")
{
	static const int policies[] = { SCHED_BATCH, SCHED_IDLE };
	struct sched_pair s = begin(7, MIN_NICE(19));
	const struct returned *got;

	for (int i = 0; i < 2; i++) {
		sched_set(s.server, policies[i], 0);
		got = sched_pair_serve(&s);
		sched_expect(s.server, policies[i], 7, __FILE__, __LINE__);
		sched_pair_end(&s, got);
		sched_expect(s.server, policies[i], 0, __FILE__, __LINE__);
	}
}

TEST(priority_of_a_realtime_server, "A server that is real-time by its own choice stays real-time.")
{
	struct sched_pair s = begin(7, MIN_NICE(19));
	const struct returned *got;

	sched_set(s.server, SCHED_FIFO, 5);
	got = sched_pair_serve(&s);
	expect_realtime(s.server, SCHED_FIFO, 5);
	sched_set(s.server, SCHED_RR, 6);
	sched_pair_end(&s, got);
	expect_realtime(s.server, SCHED_RR, 6);
	expect_nothing(s.server);
	expect_realtime(s.server, SCHED_RR, 6);
}

TEST(priority_default_of_a_realtime_opener,
     "A real-time policy of the opening thread does not become the process's default.")
{
	struct client *first, *client, *thread;

	sched_need();
	first = client_new();
	sched_set(first, SCHED_FIFO, 5);
	client = client_again(first);
	thread = client_thread(client);
	sched_set(thread, SCHED_OTHER, 0);
	sched_set_nice(thread, 7);
	send_cmd(thread, BC_ENTER_LOOPER);
	expect_nothing(thread);
	expect_nice(thread, 0);
}

/* ---- limits ------------------------------------------------------------------------ */

TEST(priority_unprivileged_by_default,
     "A server with RLIMIT_NICE 0 and no privilege keeps its nice value.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	sched_unprivileged(s.server, 0, 0);
	expect_served_at(&s, 10, 0);
	expect_served_at(&s, -10, 0);
}

TEST(priority_unprivileged_up_to_its_limit, "A server with a limit gets what the limit allows.")
{
	struct sched_pair s = begin(0, MIN_NICE(19));

	sched_unprivileged(s.server, 25, 0);
	expect_served_at(&s, 10, 10);
	expect_served_at(&s, -3, -3);
	expect_served_at(&s, -5, -5);
	expect_served_at(&s, -6, -5);
	expect_served_at(&s, -20, -5);
}
