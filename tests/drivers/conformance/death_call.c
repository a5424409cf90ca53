// SPDX-License-Identifier: GPL-2.0
/* Calls whose caller or server dies, and threads that exit with calls in progress. */
#include "expect.h"
#include "test.h"

static void thread_exit(struct client *client)
{
	int32_t zero = 0;

	EXPECT_OK(client_ioctl(client, BINDER_THREAD_EXIT, &zero));
}

TEST(death_with_oneway_pending, "One-way calls to a dying process are lost without a return.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	for (unsigned int i = 0; i < 3; i++)
		call_oneway(manager, handle, .code = i);
	for (int i = 0; i < 3; i++)
		expect(manager, BR_TRANSACTION_COMPLETE);
	client_kill(server);
	sleep_ms(50);
	expect_nothing(manager);
	round_trip(client_new(), 0, manager);
}

TEST(death_of_oneway_sender, "One-way calls arrive even if their sender has died.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_oneway(client, 0, .code = 1);
	call_oneway(client, 0, .code = 2);
	client_kill(client);
	sleep_ms(50);
	for (unsigned int code = 1; code <= 2; code++) {
		const struct returned *got = expect(manager, BR_TRANSACTION);

		EXPECT_EQ(got->txn.code, code);
		free_buffer(manager, got);
	}
	expect_nothing(manager);
}

TEST(death_of_sender_of_object,
     "A handle received from a process that has since died is a dead one.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call_oneway(client, 0, .objects = { OBJ_BINDER(0x10, 0x20) });
	client_kill(client);
	sleep_ms(50);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	call(manager, object_at(got, 0)->flat.handle);
	expect(manager, BR_DEAD_REPLY);
}

TEST(death_of_reply_receiver, "A reply with an object to a dead caller is released.")
{
	struct client *manager = manager_new(), *client = client_new();

	manager->show_refs = true;
	call_received(client, 0, manager);
	client_kill(client);
	sleep_ms(50);
	reply(manager, .objects = { OBJ_BINDER(0x10, 0x20) });
	expect_only(manager, BR_TRANSACTION_COMPLETE);
	manager->show_refs = false;
	round_trip(client_new(), 0, manager);
}

TEST(death_of_middle_reaches_both_ends,
     "When the middle of a chain dies, its caller is notified when the callee's reply is lost.")
{
	struct client *manager = manager_new(), *end = client_new(), *client = client_new();
	uint32_t handle = give(end, manager, 0x10, 0x20, 0);
	const struct returned *got;

	call_received(client, 0, manager);
	got = call_received(manager, handle, end);
	client_kill(manager);
	sleep_ms(50);
	put_free(end, got);
	reply(end);
	expect_sent(client, BR_DEAD_REPLY);
}

TEST(death_in_nested_call, "A callback into a dead caller's thread fails.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t handle = give(client, manager, 0x10, 0x20, 0);

	call_received(client, 0, manager);
	client_kill(client);
	sleep_ms(50);
	call(manager, handle);
	expect(manager, BR_DEAD_REPLY);
	reply(manager);
}

TEST(thread_exit_with_nested_calls,
     "A thread that exits in the middle of nested calls fails the call that it serves.")
{
	struct client *manager = manager_new(), *server = client_new(), *client = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	call_received(client, 0, manager);
	call_received(manager, handle, server);
	thread_exit(manager);
	reply(server);
	expect_sent(client, BR_DEAD_REPLY);
}

TEST(thread_exit_gives_its_own_work_up,
     "Calls for the exiting thread fail, calls for the process do not.")
{
	struct client *manager = manager_new(), *worker = client_thread(manager);
	struct client *client = client_new(), *other = client_new();
	const struct returned *got;

	send_cmd(worker, BC_ENTER_LOOPER);
	got = call_received(client, 0, worker, .code = 1);
	EXPECT_EQ(got->txn.code, 1);
	call(other, 0, .code = 2);
	thread_exit(worker);
	expect_sent(client, BR_DEAD_REPLY);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, 2);
	complete_call(manager, got, other);
}

TEST(thread_exit_keeps_objects,
     "BR_INCREFS and BR_ACQUIRE that an exiting thread has not read go to another one.",
     "objects_outlive_threads")
{
	struct client *manager = manager_new(), *client = client_new();
	struct client *thread = client_thread(client);

	send_cmd(thread, BC_ENTER_LOOPER);
	thread->show_refs = true;
	call_oneway(client, 0, .objects = { OBJ_BINDER(0x10, 0x20) });
	thread_exit(client);
	EXPECT_EQ(expect(thread, BR_INCREFS)->ref.ptr, 0x10);
	EXPECT_EQ(expect(thread, BR_ACQUIRE)->ref.ptr, 0x10);
	expect(manager, BR_TRANSACTION);
}

TEST(thread_exit_keeps_the_process, "The other threads of a process go on.")
{
	struct client *manager = manager_new(), *worker = client_thread(manager);
	struct client *client = client_new();

	send_cmd(worker, BC_ENTER_LOOPER);
	thread_exit(worker);
	round_trip(client, 0, manager);
}

TEST(death_of_thread_alone,
     "A thread that ends without BINDER_THREAD_EXIT leaves its call unanswered until close.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_received(client, 0, manager);
	sleep_ms(20);
	expect_nothing(client);
	client_close(manager);
	expect_sent(client, BR_DEAD_REPLY);
}

TEST(death_and_new_manager, "After the context manager's death a new one serves the same clients.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct client *heir;

	round_trip(client, 0, manager);
	client_kill(manager);
	heir = manager_new();
	round_trip(client, 0, heir);
}

TEST(death_frees_the_handles_objects,
     "A dying process drops its handles: the owner gets BR_RELEASE and BR_DECREFS.")
{
	struct client *manager = manager_new(), *server = client_new();

	give(server, manager, 0x10, 0x20, 0);
	server->show_refs = true;
	client_kill(manager);
	EXPECT_EQ(expect(server, BR_RELEASE)->ref.ptr, 0x10);
	EXPECT_EQ(expect(server, BR_DECREFS)->ref.ptr, 0x10);
}

TEST(death_frees_what_a_buffer_held,
     "The references in buffers that a dying process never freed are dropped too.")
{
	struct client *manager = manager_new(), *client = client_new();

	client->show_refs = true;
	call_oneway(client, 0, .objects = { OBJ_BINDER(0x10, 0x20) });
	EXPECT_EQ(expect(client, BR_INCREFS)->ref.ptr, 0x10);
	EXPECT_EQ(expect(client, BR_ACQUIRE)->ref.ptr, 0x10);
	expect(client, BR_TRANSACTION_COMPLETE);
	put_ref(client, BC_INCREFS_DONE, 0x10, 0x20);
	send_ref(client, BC_ACQUIRE_DONE, 0x10, 0x20);
	expect(manager, BR_TRANSACTION);
	client_kill(manager);
	EXPECT_EQ(expect(client, BR_RELEASE)->ref.ptr, 0x10);
	EXPECT_EQ(expect(client, BR_DECREFS)->ref.ptr, 0x10);
}

TEST(death_in_nested_calls_of_three,
     "Any of three processes may die or leave in the middle of nested calls; the others go on.")
{
	for (int i = 0; i < 9; i++) {
		struct client *all[3] = { manager_new(), client_new(), client_new() };
		uint32_t second = give(all[1], all[0], 0x10, 0x20, 0);
		uint32_t third = give(all[2], all[0], 0x30, 0x40, 0);
		struct client *outer = client_new();

		call_received(outer, 0, all[0]);
		call_received(all[0], second, all[1]);
		call(all[1], 0);
		expect_sent(all[0], BR_TRANSACTION);
		call_received(all[0], third, all[2]);
		client_kill(all[i % 3]);
		for (int n = 0; n < 3; n++) {
			if (n == i % 3)
				continue;
			if (n == i / 3)
				thread_exit(all[n]);
			else
				put_reply(all[n], (struct txn){ 0 });
			try_flush(all[n]);
			client_kill(all[n]);
		}
		expect_sent(outer, BR_DEAD_REPLY);
	}
	round_trip(client_new(), 0, manager_new());
}

TEST(death_of_both_parties, "A caller and its server may die together; the device goes on working.")
{
	struct client *manager = manager_new(), *client = client_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	call_received(client, 0, manager, .objects = { OBJ_BINDER(0x30, 0x40) });
	call_received(manager, handle, server);
	client_kill(client);
	client_kill(manager);
	client_kill(server);
	manager = manager_new();
	round_trip(client_new(), 0, manager);
}

TEST(txn_nested_after_the_callers_death,
     "A thread that serves a dead caller may still make calls, and reply.")
{
	struct client *manager = manager_new(), *last = client_new(), *first = client_new();
	uint32_t handle = give(last, manager, 0x10, 0x20, 0);
	const struct returned *got = call_received(first, 0, manager);

	client_kill_and_wait(first);
	round_trip(manager, handle, last);
	answer(manager, got);
	round_trip(manager, handle, last);
}
