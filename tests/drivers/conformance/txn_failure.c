// SPDX-License-Identifier: GPL-2.0
/* Calls that cannot be made, replies that cannot be delivered, and peers that die in between. */
#include "expect.h"
#include "test.h"

TEST(txn_unknown_handle_fails,
     "A call to a handle that the process does not have gets BR_FAILED_REPLY.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_fails(client, 7);
	expect_nothing(client);
	call_oneway(client, 7);
	expect_only(client, BR_FAILED_REPLY);
	round_trip(client, 0, manager);
}

TEST(txn_handles_are_per_process, "A handle of one process is unknown in another.")
{
	struct client *manager = manager_new(), *server = client_new(), *client = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	call_fails(client, handle);
	expect_nothing(server);
}

TEST(txn_dead_node_is_a_dead_reply, "A call to a node whose process has died gets BR_DEAD_REPLY.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	client_kill_and_wait(server);
	call(manager, handle);
	expect_only(manager, BR_DEAD_REPLY);
	call_oneway(manager, handle);
	expect(manager, BR_DEAD_REPLY);
}

TEST(txn_server_dies_before_reading,
     "Callers whose call was queued in a process that dies get BR_DEAD_REPLY.")
{
	struct client *manager = manager_new(), *client = client_new(), *other = client_new();

	call(client, 0);
	call(other, 0);
	client_kill(manager);
	expect_sent(client, BR_DEAD_REPLY);
	expect_sent(other, BR_DEAD_REPLY);
	expect_nothing(client);
}

TEST(txn_server_dies_while_serving,
     "A caller whose call is being served by a process that dies gets BR_DEAD_REPLY.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_received(client, 0, manager);
	client_kill(manager);
	expect_sent(client, BR_DEAD_REPLY);
	expect_nothing(client);
}

TEST(txn_server_closes_while_serving,
     "Closing the file while a call is served fails the call as a death does.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_received(client, 0, manager);
	client_close(manager);
	expect_sent(client, BR_DEAD_REPLY);
}

TEST(txn_middle_dies,
     "When the middle of a chain of calls dies, the caller gets BR_DEAD_REPLY as the far end "
     "replies.")
{
	struct client *manager = manager_new(), *middle = client_new(), *outer = client_new();
	uint32_t handle = give(middle, manager, 0x10, 0x20, 0);
	const struct returned *got;

	call(outer, 0);
	answer_with(manager, expect(manager, BR_TRANSACTION), .objects = { OBJ_HANDLE(handle) });
	handle = object_at(expect_sent(outer, BR_REPLY), 0)->flat.handle;
	call_received(outer, handle, middle);
	got = call_received(middle, 0, manager, .code = 3);
	client_kill_and_wait(middle);
	expect_nothing(outer);
	answer(manager, got);
	expect_sent(outer, BR_DEAD_REPLY);
	round_trip(outer, 0, manager);
}

TEST(txn_caller_dies_while_served,
     "A reply to a caller that has died gets BR_TRANSACTION_COMPLETE like any other.")
{
	struct client *manager = manager_new(), *client = client_new();

	put_free(manager, call_received(client, 0, manager));
	client_kill_and_wait(client);
	reply(manager);
	expect_only(manager, BR_TRANSACTION_COMPLETE);
	round_trip(client_new(), 0, manager);
}

TEST(txn_caller_dies_before_delivery, "A call is still delivered when its caller has died before.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .code = 8);
	client_kill_and_wait(client);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 8);
}

TEST(txn_reply_without_call_fails, "A reply by a thread that serves no call gets BR_FAILED_REPLY.")
{
	struct client *manager = manager_new();

	reply(manager);
	expect_only(manager, BR_FAILED_REPLY);
}

TEST(txn_reply_by_other_thread_fails, "Only the thread that received a call may reply to it.")
{
	struct client *manager = manager_new(), *thread = client_thread(manager);
	struct client *client = client_new();
	const struct returned *got = call_received(client, 0, manager);

	reply(thread);
	expect(thread, BR_FAILED_REPLY);
	expect_nothing(client);
	complete_call(manager, got, client);
}

TEST(txn_second_reply_fails,
     "A second reply to the same call gets BR_FAILED_REPLY and the caller nothing.")
{
	struct client *manager = manager_new(), *client = client_new();

	complete_call(manager, call_received(client, 0, manager), client);
	reply(manager);
	expect(manager, BR_FAILED_REPLY);
	expect_nothing(client);
}

TEST(txn_while_waiting_for_reply_fails,
     "A thread that waits for a reply may not make another call.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got = call_received(client, 0, manager, .code = 1);

	call(client, 0, .code = 2);
	expect_sent(client, BR_FAILED_REPLY);
	expect_nothing(manager);
	answer(manager, got);
	expect(client, BR_REPLY);
}

TEST(txn_oneway_while_waiting_is_fine, "A thread that waits for a reply may make one-way calls.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .code = 1);
	call_oneway(client, 0, .code = 2);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 1);
	reply(manager);
	EXPECT_EQ(expect_sent(manager, BR_TRANSACTION)->txn.code, 2);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(client, BR_REPLY);
}

TEST(txn_reply_that_does_not_fit,
     "A reply that does not fit the caller's space fails at the caller, not at the server.")
{
	struct client *manager = manager_new();
	struct client *client = client_open((struct client_options){ .map_size = 16 * 1024 });

	call(client, 0);
	answer_with(manager, expect(manager, BR_TRANSACTION), .size = 20 * 1024);
	expect_nothing(manager);
	expect_sent(client, BR_FAILED_REPLY);
	round_trip(client, 0, manager);
}

TEST(txn_bad_data_pointer_fails, "A payload at an unmapped address gets BR_FAILED_REPLY.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_fails(client, 0, .buffer = 4096, .data_size = 64);
	EXPECT_EQ(extended_error(client).param, -EFAULT);
	expect_nothing(manager);
	round_trip(client, 0, manager);
}

TEST(txn_huge_sizes_fail, "Sizes whose sum overflows fail and do no harm.")
{
	static const uint64_t sizes[] = { ~0ull, ~0ull - 7, 1ull << 63, 1ull << 32, 0xffffffff };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		call_fails(client, 0, .data_size = sizes[i]);
		call_fails(client, 0, .offsets_size = sizes[i] & ~7ull);
		call_fails(client, 0, .sg = true, .buffers_size = sizes[i] & ~7ull);
	}
	expect_nothing(manager);
	round_trip(client, 0, manager);
}

TEST(txn_reply_while_waiting_fails, "A thread that waits for a reply cannot send one.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0);
	reply(client);
	expect_sent(client, BR_FAILED_REPLY);
	answer(manager, expect(manager, BR_TRANSACTION));
	free_buffer(client, expect(client, BR_REPLY));
}
