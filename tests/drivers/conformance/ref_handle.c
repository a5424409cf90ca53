// SPDX-License-Identifier: GPL-2.0
/* Handles as their holder sees them: numbers, counts, and what a weak one allows. */
#include "expect.h"
#include "test.h"

#define COOKIE 0x2000

/* One reference command, sent by itself. */
static void put_now(struct client *client, uint32_t cmd, uint32_t handle)
{
	send_u32(client, cmd, handle);
}

/* A call to the handle is refused. */
static void expect_unusable(struct client *client, uint32_t handle)
{
	call_fails(client, handle);
}

TEST(handle_numbers_count_from_one, "Handles are numbered from 1, 0 being the context manager's.")
{
	struct client *manager = manager_new(), *server = client_new();

	for (uint32_t i = 1; i <= 5; i++)
		EXPECT_EQ(give(server, manager, i * 0x100, COOKIE, 0), i);
}

TEST(handle_numbers_are_reused, "A new handle gets the lowest number that is free.")
{
	struct client *manager = manager_new(), *server = client_new();

	for (uint32_t i = 1; i <= 5; i++)
		give(server, manager, i * 0x100, COOKIE, 0);
	put_now(manager, BC_RELEASE, 4);
	put_now(manager, BC_RELEASE, 2);
	EXPECT_EQ(give(server, manager, 0x1000, COOKIE, 0), 2);
	EXPECT_EQ(give(server, manager, 0x1100, COOKIE, 0), 4);
	EXPECT_EQ(give(server, manager, 0x1200, COOKIE, 0), 6);
}

TEST(handle_of_same_node_is_the_same, "A known node keeps its handle.")
{
	struct client *manager = manager_new(), *server = client_new();

	EXPECT_EQ(give(server, manager, 0x100, COOKIE, 0), 1);
	EXPECT_EQ(give(server, manager, 0x200, COOKIE, 0), 2);
	EXPECT_EQ(give(server, manager, 0x100, COOKIE, 0), 1);
}

TEST(handle_zero_is_kept_for_the_manager,
     "A process whose first reference is another node gets handle 1 for it.")
{
	struct client *manager = manager_new(), *server = client_new(), *client = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	put_free(manager, call_received(client, 0, manager));
	reply(manager, .objects = { OBJ_HANDLE(handle) });
	expect(client, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(object_at(expect(client, BR_REPLY), 0)->flat.handle, 1);
}

TEST(handle_counts_add_up, "A handle acquired several times exists until it is released as often.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	put_now(manager, BC_ACQUIRE, handle);
	put_now(manager, BC_ACQUIRE, handle);
	put_now(manager, BC_RELEASE, handle);
	put_now(manager, BC_RELEASE, handle);
	round_trip(manager, handle, server);
	put_now(manager, BC_RELEASE, handle);
	expect_unusable(manager, handle);
}

TEST(handle_weak_cannot_be_called, "A weak-only handle cannot be called.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	put_u32(manager, BC_INCREFS, handle);
	send_u32(manager, BC_RELEASE, handle);
	expect_unusable(manager, handle);
	expect_nothing(server);
}

TEST(handle_weak_keeps_its_number, "A weak reference keeps the handle's number for its node.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	put_u32(manager, BC_INCREFS, handle);
	send_u32(manager, BC_RELEASE, handle);
	EXPECT_EQ(give(server, manager, 0x200, COOKIE, 0), handle + 1);
	EXPECT_EQ(give(server, manager, 0x100, COOKIE, 0), handle);
	round_trip(manager, handle, server);
}

TEST(handle_weak_cannot_be_acquired,
     "BC_ACQUIRE of a weak-only handle is ignored, even if other processes have strong "
     "references.")
{
	struct client *manager = manager_new(), *server = client_new(), *holder = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);
	const struct returned *got;
	uint32_t weak;

	put_free(manager, call_received(holder, 0, manager));
	reply(manager, .objects = { OBJ_WEAK_HANDLE(handle) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(holder, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_WEAK_HANDLE);
	weak = object_at(got, 0)->flat.handle;
	expect_unusable(holder, weak);
	put_now(holder, BC_ACQUIRE, weak);
	expect_unusable(holder, weak);
	round_trip(manager, handle, server);
}

TEST(handle_weak_cannot_be_revived,
     "A weak-only handle cannot be upgraded by a process that released it.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	server->show_refs = true;
	put_u32(manager, BC_INCREFS, handle);
	send_u32(manager, BC_RELEASE, handle);
	expect_only(server, BR_RELEASE);
	put_now(manager, BC_ACQUIRE, handle);
	expect_nothing(server);
	expect_unusable(manager, handle);
}

TEST(handle_release_of_last_ends_it, "When its last reference is released, a handle is unknown.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	round_trip(manager, handle, server);
	put_now(manager, BC_RELEASE, handle);
	expect_unusable(manager, handle);
	EXPECT_EQ(extended_error(manager).param, -EINVAL);
}

TEST(handle_over_release_is_ignored, "Releasing a count that is zero is ignored.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	put_u32(manager, BC_DECREFS, handle);
	send_u32(manager, BC_DECREFS, handle);
	round_trip(manager, handle, server);
	put_u32(manager, BC_RELEASE, handle);
	put_u32(manager, BC_RELEASE, handle);
	send_u32(manager, BC_RELEASE, handle);
	EXPECT_EQ(give(server, manager, 0x100, COOKIE, 0), handle);
	round_trip(manager, handle, server);
}

TEST(handle_unknown_counts_are_ignored, "Reference commands for an unknown handle are ignored.")
{
	static const uint32_t cmds[] = { BC_INCREFS, BC_ACQUIRE, BC_RELEASE, BC_DECREFS };
	struct client *manager = manager_new(), *client = client_new();

	for (int i = 0; i < 4; i++) {
		put_u32(client, cmds[i], 50);
		put_u32(client, cmds[i], 0xffffffff);
	}
	flush(client);
	expect_nothing(client);
	round_trip(client, 0, manager);
}

TEST(handle_zero_without_manager_is_ignored,
     "Acquiring handle 0 without a context manager is ignored.")
{
	struct client *manager = manager_new(), *client = client_new();

	client_close(manager);
	sleep_ms(CLEANUP_MS);
	put_u32(client, BC_ACQUIRE, 0);
	send_u32(client, BC_INCREFS, 0);
	call(client, 0);
	expect(client, BR_DEAD_REPLY);
}

TEST(handle_buffer_holds_a_reference,
     "Until its buffer is freed a received handle can be used without BC_ACQUIRE.")
{
	struct client *manager = manager_new(), *server = client_new();
	const struct returned *got;
	uint32_t handle;

	call_oneway(server, 0, .objects = { OBJ_BINDER(0x100, COOKIE) });
	expect(server, BR_TRANSACTION_COMPLETE);
	got = expect(manager, BR_TRANSACTION);
	handle = object_at(got, 0)->flat.handle;
	round_trip(manager, handle, server);
	free_buffer(manager, got);
	expect_unusable(manager, handle);
}

TEST(handle_dead_node_keeps_its_number,
     "The handle of a dead node stays in use until it is released.")
{
	struct client *manager = manager_new(), *server = client_new(), *other = client_new();
	uint32_t handle = give(server, manager, 0x100, COOKIE, 0);

	client_kill_and_wait(server);
	EXPECT_EQ(give(other, manager, 0x100, COOKIE, 0), handle + 1);
	put_now(manager, BC_RELEASE, handle);
	EXPECT_EQ(give(other, manager, 0x200, COOKIE, 0), handle);
}

TEST(handle_many, "Five hundred nodes get five hundred handles, and all of them work.")
{
	struct client *manager = manager_new(), *server = client_new();

	for (uint32_t i = 1; i <= 500; i++)
		EXPECT_EQ(give(server, manager, i * 0x10, COOKIE, 0), i);
	for (uint32_t i = 1; i <= 500; i += 83)
		round_trip(manager, i, server);
	for (uint32_t i = 1; i <= 500; i++)
		put_u32(manager, BC_RELEASE, i);
	flush(manager);
	EXPECT_EQ(give(server, manager, 0x9990, COOKIE, 0), 1);
}

TEST(handle_zero_of_the_manager_itself, "A manager cannot take a reference to handle 0.")
{
	struct client *manager = manager_new();

	put_u32(manager, BC_ACQUIRE, 0);
	EXPECT_ERR(try_flush(manager), EINVAL);
	put_u32(manager, BC_INCREFS, 0);
	EXPECT_ERR(try_flush(manager), EINVAL);
}
