// SPDX-License-Identifier: GPL-2.0
/* Objects and handles in payloads: each arrives as what it is for the receiver. */
#include <string.h>

#include "expect.h"
#include "test.h"

/* The call is refused: its sender gets a failure and the reason, the server gets nothing. */
static void expect_refused(struct client *client, struct client *server, int err)
{
	struct binder_extended_error error;

	expect_only(client, BR_FAILED_REPLY);
	expect_nothing(server);
	error = extended_error(client);
	EXPECT_EQ(error.command, BR_FAILED_REPLY);
	EXPECT_EQ(error.param, -err);
}

TEST(object_own_becomes_handle, "An own object arrives as a handle, with cookie 0.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call(client, 0, .objects = { OBJ_BINDER(0x10, 0x20, .flags = 0x17f) });
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.data_size, sizeof(struct flat_binder_object));
	EXPECT_EQ(got->txn.offsets_size, 8);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 1);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0);
	EXPECT_EQ(object_at(got, 0)->flat.flags, 0x17f);
}

TEST(object_same_object_same_handle, "An object sent twice is the same handle.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	EXPECT_EQ(give(client, manager, 0x10, 0x20, 0), 1);
	EXPECT_EQ(give(client, manager, 0x30, 0x40, 0), 2);
	EXPECT_EQ(give(client, manager, 0x10, 0x20, 0), 1);
	call(client, 0, .objects = { OBJ_BINDER(0x30, 0x40), OBJ_BINDER(0x30, 0x40) });
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->flat.handle, 2);
	EXPECT_EQ(object_at(got, 1)->flat.handle, 2);
}

TEST(object_returns_to_its_owner,
     "A handle sent to the object's owner arrives as the object itself.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t handle = give(client, manager, 0x10, 0x20, 0);
	const struct returned *got;

	call(manager, handle, .objects = { OBJ_HANDLE(handle), OBJ_WEAK_HANDLE(handle) });
	got = expect(client, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_BINDER);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 0x10);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0x20);
	EXPECT_EQ(object_at(got, 1)->hdr.type, BINDER_TYPE_WEAK_BINDER);
	EXPECT_EQ(object_at(got, 1)->flat.binder, 0x10);
	EXPECT_EQ(object_at(got, 1)->flat.cookie, 0x20);
}

TEST(object_returns_to_its_owner_in_reply,
     "A handle in a reply to the object's owner arrives as the object itself.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t handle = give(client, manager, 0x10, 0x20, 0);
	const struct returned *got;

	call_received(client, 0, manager);
	reply(manager, .objects = { OBJ_HANDLE(handle) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_BINDER);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 0x10);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0x20);
}

TEST(object_handle_is_passed_on,
     "A handle that is passed on gets the receiver's number for the same object.")
{
	struct client *manager = manager_new(), *other = client_new(), *server = client_new();
	struct client *client = client_new();
	const struct returned *got;
	uint32_t handle, there;

	give(other, manager, 0x50, 0x60, 0);
	handle = give(server, manager, 0x10, 0x20, 0);
	EXPECT_EQ(handle, 2);
	got = call_received(client, 0, manager);
	answer_with(manager, got, .objects = { OBJ_HANDLE(handle) });
	got = expect_sent(client, BR_REPLY);
	there = object_at(got, 0)->flat.handle;
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0);
	EXPECT_EQ(there, 1);
	round_trip(client, there, server);
	got = NULL;
	got = call_received(client, there, server, .code = 3);
	EXPECT_EQ(got->txn.target.ptr, 0x10);
	EXPECT_EQ(got->txn.cookie, 0x20);
}

TEST(object_reference_goes_with_the_buffer,
     "The reference that a payload brought is dropped when its buffer is freed, unless another "
     "was taken.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	client->show_refs = true;
	got = call_received(client, 0, manager, .objects = { OBJ_BINDER(0x10, 0x20) });
	reply(manager);
	expect(manager, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect(client, BR_INCREFS)->ref.ptr, 0x10);
	EXPECT_EQ(expect(client, BR_ACQUIRE)->ref.ptr, 0x10);
	finish_call(client);
	expect_nothing(client);
	put_ref(client, BC_INCREFS_DONE, 0x10, 0x20);
	send_ref(client, BC_ACQUIRE_DONE, 0x10, 0x20);
	expect_nothing(client);
	free_buffer(manager, got);
	EXPECT_EQ(expect(client, BR_RELEASE)->ref.ptr, 0x10);
	EXPECT_EQ(expect(client, BR_DECREFS)->ref.ptr, 0x10);
	call_fails(manager, 1);
}

TEST(object_cookie_mismatch_is_refused,
     "An object known by its ptr cannot be sent with another cookie.")
{
	struct client *manager = manager_new(), *client = client_new();

	give(client, manager, 0x10, 0x20, 0);
	call(client, 0, .objects = { OBJ_BINDER(0x10, 0x21) });
	expect_refused(client, manager, EINVAL);
	round_trip(client, 0, manager);
}

TEST(object_unknown_handle_is_refused, "A handle that the sender does not have is refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .objects = { OBJ_HANDLE(5) });
	expect_refused(client, manager, EINVAL);
	call(client, 0, .objects = { OBJ_WEAK_HANDLE(5) });
	expect_refused(client, manager, EINVAL);
	round_trip(client, 0, manager);
}

TEST(object_weak_becomes_weak_handle, "A weak object arrives as a weak handle.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	client->show_refs = true;
	got = call_received(client, 0, manager, .objects = { OBJ_WEAK_BINDER(0x10, 0x20) });
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_WEAK_HANDLE);
	EXPECT_EQ(object_at(got, 0)->flat.handle, 1);
	reply(manager);
	EXPECT_EQ(expect(client, BR_INCREFS)->ref.ptr, 0x10);
	finish_call(client);
	expect_nothing(client);
}

TEST(object_weak_handle_is_not_callable, "A weak-only handle cannot be called.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_received(client, 0, manager, .objects = { OBJ_WEAK_BINDER(0x10, 0x20) });
	call_fails(manager, 1);
}

TEST(object_weak_handle_is_not_sent_as_strong,
     "A weak-only handle cannot be sent as a strong one, only as a weak one.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	got = call_received(client, 0, manager, .objects = { OBJ_WEAK_BINDER(0x10, 0x20) });
	put_u32(manager, BC_INCREFS, 1);
	complete_call(manager, got, client);
	call_received(client, 0, manager);
	reply(manager, .objects = { OBJ_HANDLE(1) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
	call_received(client, 0, manager);
	reply(manager, .objects = { OBJ_WEAK_HANDLE(1) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_WEAK_BINDER);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 0x10);
}

TEST(object_manager_travels_as_handle_0,
     "The context manager's own object is handle 0 for other processes.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call_received(client, 0, manager);
	reply(manager, .objects = { OBJ_BINDER(0, 0) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	EXPECT_EQ(object_at(got, 0)->flat.handle, 0);
}

TEST(object_handle_0_goes_to_the_manager_as_itself,
     "Handle 0 sent to the context manager arrives as its object.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	put_u32(client, BC_ACQUIRE, 0);
	got = call_received(client, 0, manager, .objects = { OBJ_HANDLE(0) });
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_BINDER);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 0);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0);
}

TEST(object_dead_handle_can_be_passed_on, "A handle of a dead object can be sent, and stays dead.")
{
	struct client *manager = manager_new(), *server = client_new(), *client = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	const struct returned *got;

	client_kill(server);
	sleep_ms(50);
	call_received(client, 0, manager);
	reply(manager, .objects = { OBJ_HANDLE(handle) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	call(client, object_at(got, 0)->flat.handle);
	expect(client, BR_DEAD_REPLY);
}

TEST(object_unknown_type_is_refused, "An object of no known type is refused.")
{
	struct client *manager = manager_new(), *client = client_new();
	union object odd = OBJ_BINDER(0x10, 0x20);

	odd.hdr.type = 0x12345678;
	call(client, 0, .objects = { odd });
	expect_refused(client, manager, EINVAL);
}

TEST(object_failed_reply_undoes_what_it_had_done,
     "When a later object is refused, the effects of the earlier ones are undone.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .objects = { OBJ_BINDER(0x10, 0x20), OBJ_BINDER(0x30, 0x40),
				     OBJ_HANDLE(77) });
	expect(client, BR_FAILED_REPLY);
	EXPECT_EQ(give(client, manager, 0x50, 0x60, 0), 1);
	round_trip(manager, 1, client);
}

TEST(object_many, "A payload may carry hundreds of objects.")
{
	enum { NR = 500 };
	struct client *manager = manager_new(), *client = client_new();
	struct flat_binder_object objects[NR];
	binder_size_t offsets[NR];
	const struct returned *got;

	memset(objects, 0, sizeof(objects));
	for (int i = 0; i < NR; i++) {
		objects[i].hdr.type = BINDER_TYPE_BINDER;
		objects[i].binder = 0x1000 + (binder_uintptr_t)i;
		offsets[i] = (binder_size_t)i * sizeof(objects[0]);
	}
	client->show_refs = true;
	call(client, 0, .data = objects, .size = sizeof(objects), .offsets = offsets,
	     .offsets_size = sizeof(offsets));
	got = expect(manager, BR_TRANSACTION);
	for (unsigned int i = 0; i < NR; i++) {
		EXPECT_EQ(object_at(got, i)->hdr.type, BINDER_TYPE_HANDLE);
		EXPECT_EQ(object_at(got, i)->flat.handle, i + 1);
	}
}

TEST(object_weak_back_before_the_notice,
     "A weak handle is delivered to its owner even if that was never notified of the object.")
{
	struct client *manager = manager_new(), *owner = client_new();
	uint32_t handle = give(owner, manager, 0x10, 0x20, 0);
	struct client *thread = client_thread(owner);
	const struct returned *got;
	int32_t unused = 0;

	/* The notice stands in the list of the thread, which does not read it. */
	call_oneway(thread, 0, .objects = { OBJ_WEAK_BINDER(0x30, 0x40) });
	EXPECT_OK(client_ioctl(thread, BINDER_THREAD_EXIT, &unused));
	got = expect(manager, BR_TRANSACTION);
	call_oneway(manager, handle,
		    .objects = { OBJ_WEAK_HANDLE(object_at(got, 0)->flat.handle) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect(owner, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_WEAK_BINDER);
	EXPECT_EQ(object_at(got, 0)->flat.binder, 0x30);
	EXPECT_EQ(object_at(got, 0)->flat.cookie, 0x40);
}
