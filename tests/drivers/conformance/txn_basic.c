// SPDX-License-Identifier: GPL-2.0
/* Calls and replies: what each side gets, and when. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

TEST(txn_fields_arrive,
     "A call brings code, flags, data and its size, and the node's ptr and cookie.")
{
	struct client *client = manager_new(), *server = client_new();
	uint32_t handle = give(server, client, 0xaaaa0000, 0xbbbb0000, 0);
	const struct returned *got;

	got = call_received(client, handle, server, .code = 0x12345678, .data = "hello", .size = 6);
	EXPECT_EQ(got->txn.target.ptr, 0xaaaa0000);
	EXPECT_EQ(got->txn.cookie, 0xbbbb0000);
	EXPECT_EQ(got->txn.code, 0x12345678);
	EXPECT_EQ(got->txn.flags, 0);
	EXPECT_EQ(got->txn.data_size, 6);
	EXPECT_EQ(got->txn.offsets_size, 0);
	EXPECT(!strcmp((char *)got->data, "hello"));
}

TEST(txn_flags_pass_through, "Flags, known and unknown, reach the receiver as they were sent.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t flags = TF_ACCEPT_FDS | TF_ROOT_OBJECT | TF_STATUS_CODE | TF_CLEAR_BUF | 1u << 31;

	EXPECT_EQ(call_received(client, 0, manager, .flags = flags)->txn.flags, flags);
}

TEST(txn_reply_fields_arrive, "A reply brings data, code and flags; target and cookie are 0.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	put_free(manager, call_received(client, 0, manager));
	reply(manager, .code = 9, .flags = TF_ROOT_OBJECT, .data = "answer", .size = 7);
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(got->txn.target.ptr, 0);
	EXPECT_EQ(got->txn.cookie, 0);
	EXPECT_EQ(got->txn.code, 9);
	EXPECT_EQ(got->txn.flags, TF_ROOT_OBJECT);
	EXPECT(got->txn.data_size == 7 && !strcmp((char *)got->data, "answer"));
}

TEST(txn_reply_hides_the_pid, "A reply's sender_pid is 0; its sender_euid is the server's.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	put_free(manager, call_received(client, 0, manager));
	reply(manager);
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(got->txn.sender_pid, 0);
	EXPECT_EQ(got->txn.sender_euid, geteuid());
}

TEST(txn_status_code_reply, "A reply with TF_STATUS_CODE carries its four bytes as any other data.")
{
	struct client *manager = manager_new(), *client = client_new();
	int32_t status = -38;
	const struct returned *got;

	put_free(manager, call_received(client, 0, manager));
	reply(manager, .flags = TF_STATUS_CODE, .data = &status, .size = sizeof(status));
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(got->txn.flags, TF_STATUS_CODE);
	EXPECT_EQ(*(int32_t *)got->data, -38);
}

TEST(txn_sender_is_the_process,
     "sender_pid is the process id of the caller, from any of its threads.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct client *thread = client_thread(client);
	const struct returned *got;

	EXPECT(actor_tid(thread->by) != actor_pid(thread->by));
	got = call_received(thread, 0, manager);
	EXPECT_EQ(got->txn.sender_pid, actor_pid(client->by));
	EXPECT_EQ(got->txn.sender_euid, geteuid());
}

/* Only this thread: the function of the C library changes all threads of the process. */
static void set_euid_of_thread(void *arg)
{
	uid_t uid = *(uid_t *)arg;

	if (syscall(SYS_setresuid, -1, uid, -1))
		FAIL("setresuid: %s", test_errno_name(errno));
}

/* What the receivers of a call, and of its reply, see of peers whose second threads are 1234. */
static void expect_euid_from_second_threads(uint32_t euid)
{
	struct client *manager = manager_new(), *server = client_thread(manager);
	struct client *client = client_thread(client_new());
	const struct returned *got;
	uid_t *uid = shared_copy(&(uid_t){ 1234 }, sizeof(uid_t));

	if (geteuid())
		test_skip("needs to change its user id");
	client_run(server, set_euid_of_thread, uid);
	client_run(client, set_euid_of_thread, uid);
	got = call_received(client, 0, server);
	EXPECT_EQ(got->txn.sender_euid, euid);
	reply(server, 0);
	EXPECT_EQ(expect_sent(client, BR_REPLY)->txn.sender_euid, euid);
}

TEST(txn_sender_euid_is_of_the_thread,
     "sender_euid is the effective user id of the sending thread, of a call and of a reply.",
     "sender_euid_of_thread")
{
	expect_euid_from_second_threads(1234);
}

TEST(txn_sender_euid_is_of_the_process,
     "Before 7.2: sender_euid is the effective user id of the first thread of the sender.",
     "sender_euid_of_process")
{
	expect_euid_from_second_threads(0);
}

TEST(txn_oneway_hides_the_pid,
     "A one-way call's sender_pid is 0; its sender_euid is that of the sender.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call_oneway(client, 0);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.sender_pid, 0);
	EXPECT_EQ(got->txn.sender_euid, geteuid());
	EXPECT_EQ(got->txn.flags, TF_ONE_WAY);
}

TEST(txn_complete_waits_for_the_reply,
     "BR_TRANSACTION_COMPLETE of a call that waits for a reply wakes no reader; it comes with "
     "the reply.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0);
	expect_nothing(client);
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_OK(read_once(client, READ_SIZE));
	EXPECT_EQ(client->in.size, 4 + 4 + 4 + sizeof(struct binder_transaction_data));
	expect_sent(client, BR_REPLY);
}

TEST(txn_oneway_complete_comes_at_once, "A one-way call's BR_TRANSACTION_COMPLETE comes at once.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_oneway(client, 0);
	expect_only(client, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
}

TEST(txn_reply_complete_comes_at_once,
     "The server gets BR_TRANSACTION_COMPLETE for its reply at once.")
{
	struct client *manager = manager_new(), *client = client_new();

	put_free(manager, call_received(client, 0, manager));
	reply(manager);
	EXPECT_OK(read_once(manager, READ_SIZE));
	EXPECT_EQ(manager->in.size, 8);
	expect_only(manager, BR_TRANSACTION_COMPLETE);
}

TEST(txn_nested_call_lands_in_the_waiting_thread,
     "A call back into a process that waits for a reply goes to the waiting thread.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct client *idle = client_thread(server);
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	const struct returned *outer, *inner;

	outer = call_received(server, 0, manager, .code = 1);
	call(manager, handle, .code = 2);
	expect_nothing(idle);
	inner = expect(server, BR_TRANSACTION_COMPLETE);
	inner = expect(server, BR_TRANSACTION);
	EXPECT_EQ(inner->txn.code, 2);
	complete_call(server, inner, manager);
	answer(manager, outer);
	free_buffer(server, expect(server, BR_REPLY));
	expect_nothing(server);
}

TEST(txn_nested_from_elsewhere_does_not,
     "A call by a third process does not go to a thread that waits for a reply.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	struct client *thread = client_thread(manager);

	call_received(server, 0, manager, .code = 1);
	call(thread, handle, .code = 2);
	expect_nothing(server);
	EXPECT_EQ(expect(client_thread(server), BR_TRANSACTION)->txn.code, 2);
}

TEST(txn_oneway_does_not_land_in_the_waiting_thread,
     "A one-way call back does not go to the thread that waits.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct client *thread = client_thread(server);
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	call_received(server, 0, manager, .code = 1);
	call_oneway(manager, handle, .code = 2);
	expect_nothing(server);
	EXPECT_EQ(expect(thread, BR_TRANSACTION)->txn.code, 2);
}

TEST(txn_recursion_unwinds_in_order,
     "Two processes may call each other back and forth; replies unwind the stack.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	const struct returned *at_manager[8], *at_server[8];
	int depth = 8;

	for (int i = 0; i < depth; i++) {
		call(server, 0, .code = 100 + i);
		at_manager[i] = expect(manager, i ? BR_TRANSACTION_COMPLETE : BR_TRANSACTION);
		if (i)
			at_manager[i] = expect(manager, BR_TRANSACTION);
		EXPECT_EQ(at_manager[i]->txn.code, 100 + i);
		call(manager, handle, .code = 200 + i);
		expect(server, BR_TRANSACTION_COMPLETE);
		at_server[i] = expect(server, BR_TRANSACTION);
		EXPECT_EQ(at_server[i]->txn.code, 200 + i);
	}
	for (int i = depth - 1; i >= 0; i--) {
		answer(server, at_server[i]);
		if (i == depth - 1)
			expect(manager, BR_TRANSACTION_COMPLETE);
		free_buffer(manager, expect(manager, BR_REPLY));
		answer(manager, at_manager[i]);
		free_buffer(server, expect(server, BR_REPLY));
	}
	expect_nothing(server);
	expect_nothing(manager);
	round_trip(server, 0, manager);
}

TEST(txn_own_node_is_local,
     "A process cannot have a handle of its own node: it gets the node itself.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	const struct returned *got;

	put_free(manager, call_received(server, 0, manager));
	reply(manager, .objects = { OBJ_HANDLE(handle) });
	got = expect_sent(server, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_BINDER);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 0x10);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0x20);
}

TEST(txn_two_callers_are_kept_apart, "Each of two waiting callers gets the reply to its own call.")
{
	struct client *manager = manager_new(), *worker = client_thread(manager);
	struct client *first = client_new(), *second = client_new();
	const struct returned *got;

	EXPECT_EQ(call_received(first, 0, manager, .code = 1)->txn.code, 1);
	EXPECT_EQ(call_received(second, 0, worker, .code = 2)->txn.code, 2);
	reply(worker, .data = "two", .size = 4);
	reply(manager, .data = "one", .size = 4);
	got = expect_sent(first, BR_REPLY);
	EXPECT(!strcmp((char *)got->data, "one"));
	got = expect_sent(second, BR_REPLY);
	EXPECT(!strcmp((char *)got->data, "two"));
}

TEST(txn_empty_payload_has_a_buffer,
     "An empty call has a buffer address, too, which must be freed.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got = call_received(client, 0, manager);

	EXPECT_EQ(got->txn.data_size, 0);
	EXPECT(got->txn.data.ptr.buffer >= (uintptr_t)manager->port->map);
	EXPECT(got->txn.data.ptr.buffer < (uintptr_t)manager->port->map + manager->port->map_bytes);
	complete_call(manager, got, client);
}

TEST(txn_offsets_follow_the_data, "Offsets lie behind the data, at the next multiple of eight.")
{
	struct client *client = manager_new(), *server = client_new();
	const struct returned *got;

	call(server, 0, .data = "abc", .size = 3, .objects = { OBJ_BINDER(0x10, 0x20) });
	got = expect(client, BR_TRANSACTION);
	EXPECT_EQ(got->txn.data_size, 8 + sizeof(struct flat_binder_object));
	EXPECT_EQ(got->txn.data.ptr.offsets, got->txn.data.ptr.buffer + got->txn.data_size);
	EXPECT_EQ(got->txn.offsets_size, 8);
	EXPECT_EQ(got->offsets[0], 8);
}

TEST(txn_reply_with_oneway_flag, "TF_ONE_WAY in the flags of a reply is ignored.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0);
	free_buffer(manager, expect(manager, BR_TRANSACTION));
	reply(manager, .flags = TF_ONE_WAY, .code = 5);
	expect(manager, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect_sent(client, BR_REPLY)->txn.flags, TF_ONE_WAY);
	expect_nothing(manager);
}
