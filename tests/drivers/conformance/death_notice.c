// SPDX-License-Identifier: GPL-2.0
/* Death notifications: requested, delivered, acknowledged, cleared, in every order. */
#include "expect.h"
#include "test.h"

static void request(struct client *client, uint32_t handle, uint64_t cookie)
{
	send_handle_cookie(client, BC_REQUEST_DEATH_NOTIFICATION, handle, cookie);
}

static void clear(struct client *client, uint32_t handle, uint64_t cookie)
{
	send_handle_cookie(client, BC_CLEAR_DEATH_NOTIFICATION, handle, cookie);
}

static void done(struct client *client, uint64_t cookie)
{
	send_u64(client, BC_DEAD_BINDER_DONE, cookie);
}

TEST(death_is_notified,
     "The death of an object is notified to a process that requested it, with its cookie.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 0xdead0001);
	expect_nothing(s.holder);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 0xdead0001);
	done(s.holder, 0xdead0001);
	expect_nothing(s.holder);
}

TEST(death_by_exit_is_notified, "An exit is a death like any other.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 1);
	actor_exit(s.server->by);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 1);
}

TEST(death_by_close_is_notified, "Closing the device is the death of the process's objects.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 1);
	client_close(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 1);
}

TEST(death_before_the_request_is_notified, "A request after the death is notified at once.")
{
	struct holding s = holding_new();

	client_kill(s.server);
	sleep_ms(50);
	request(s.holder, s.handle, 7);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 7);
	done(s.holder, 7);
	expect_nothing(s.holder);
}

TEST(death_is_notified_once, "A death is notified once, acknowledged or not.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 7);
	client_kill(s.server);
	expect_only(s.holder, BR_DEAD_BINDER);
	done(s.holder, 7);
	done(s.holder, 7);
	expect_nothing(s.holder);
}

TEST(death_unrequested_is_not_notified, "A process that made no request is not notified.")
{
	struct holding s = holding_new();

	client_kill(s.server);
	sleep_ms(50);
	expect_nothing(s.holder);
	call(s.holder, s.handle);
	expect_only(s.holder, BR_DEAD_REPLY);
}

TEST(death_double_request, "A second request for the same handle is ignored.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 1);
	request(s.holder, s.handle, 2);
	expect_nothing(s.holder);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 1);
	done(s.holder, 1);
	expect_nothing(s.holder);
}

TEST(death_unknown_handle, "A request for an unknown handle is ignored.")
{
	struct holding s = holding_new();

	request(s.holder, 99, 1);
	clear(s.holder, 99, 1);
	expect_nothing(s.holder);
	round_trip(s.holder, s.handle, s.server);
}

TEST(death_clear, "A cleared request is confirmed, and no death is notified.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 3);
	clear(s.holder, s.handle, 3);
	EXPECT_EQ(expect(s.holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 3);
	client_kill(s.server);
	sleep_ms(50);
	expect_nothing(s.holder);
}

TEST(death_clear_and_request_again,
     "After a clear, death may be requested again with another cookie.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 3);
	clear(s.holder, s.handle, 3);
	expect(s.holder, BR_CLEAR_DEATH_NOTIFICATION_DONE);
	request(s.holder, s.handle, 4);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 4);
}

TEST(death_clear_unread_and_request_again,
     "Death may be requested again before the confirmation of the clear is read.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 3);
	clear(s.holder, s.handle, 3);
	request(s.holder, s.handle, 4);
	EXPECT_EQ(expect(s.holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 3);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 4);
}

TEST(death_clear_with_wrong_cookie, "A clear with another cookie is ignored.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 3);
	clear(s.holder, s.handle, 4);
	expect_nothing(s.holder);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 3);
}

TEST(death_clear_unrequested, "A clear without a request is ignored.")
{
	struct holding s = holding_new();

	clear(s.holder, s.handle, 3);
	expect_nothing(s.holder);
	round_trip(s.holder, s.handle, s.server);
}

TEST(death_clear_before_delivery,
     "A clear after the death, but before it is read: the death is notified, and the clear is "
     "confirmed once that is acknowledged.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 5);
	client_kill(s.server);
	sleep_ms(100);
	clear(s.holder, s.handle, 5);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 5);
	expect_nothing(s.holder);
	done(s.holder, 5);
	EXPECT_EQ(expect(s.holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 5);
	expect_nothing(s.holder);
}

TEST(death_clear_while_delivered,
     "A clear between notification and acknowledgement is confirmed with the acknowledgement.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 5);
	client_kill(s.server);
	expect(s.holder, BR_DEAD_BINDER);
	clear(s.holder, s.handle, 5);
	expect_nothing(s.holder);
	done(s.holder, 5);
	EXPECT_EQ(expect(s.holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 5);
}

TEST(death_clear_after_done, "A clear after the acknowledgement is confirmed at once.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 5);
	client_kill(s.server);
	expect(s.holder, BR_DEAD_BINDER);
	done(s.holder, 5);
	expect_nothing(s.holder);
	clear(s.holder, s.handle, 5);
	EXPECT_EQ(expect(s.holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 5);
}

TEST(death_done_unknown, "An acknowledgement without a notification is ignored.")
{
	struct holding s = holding_new();

	done(s.holder, 0x1234);
	request(s.holder, s.handle, 5);
	done(s.holder, 5);
	expect_nothing(s.holder);
	client_kill(s.server);
	expect(s.holder, BR_DEAD_BINDER);
	done(s.holder, 6);
	expect_nothing(s.holder);
}

TEST(death_release_before_death, "When its handle is released, a request for its death is dropped.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 5);
	send_u32(s.holder, BC_RELEASE, s.handle);
	client_kill(s.server);
	sleep_ms(50);
	expect_nothing(s.holder);
}

TEST(death_release_before_delivery,
     "When its handle is released, a death that was not read is dropped.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 5);
	client_kill(s.server);
	sleep_ms(100);
	send_u32(s.holder, BC_RELEASE, s.handle);
	expect_nothing(s.holder);
}

TEST(death_release_while_delivered, "A death may be acknowledged after its handle was released.")
{
	struct holding s = holding_new();

	request(s.holder, s.handle, 5);
	client_kill(s.server);
	expect(s.holder, BR_DEAD_BINDER);
	send_u32(s.holder, BC_RELEASE, s.handle);
	done(s.holder, 5);
	expect_nothing(s.holder);
	round_trip(client_new(), 0, s.holder);
}

TEST(death_of_several_objects, "The death of each object is notified with its own cookie.")
{
	struct client *holder = manager_new(), *server = client_new();
	unsigned int seen = 0;

	for (unsigned int i = 1; i <= 4; i++)
		request(holder, give(server, holder, i * 0x10, i, 0), i);
	client_kill(server);
	for (int i = 0; i < 4; i++)
		seen |= 1u << expect(holder, BR_DEAD_BINDER)->cookie;
	EXPECT_EQ(seen, 0x1e);
	expect_nothing(holder);
}

TEST(death_notified_to_each_holder, "Each holder that requested it is notified.")
{
	struct holding s = holding_new();
	struct client *other = client_new();

	call_received(other, 0, s.holder);
	reply(s.holder, .objects = { OBJ_HANDLE(s.handle) });
	expect(s.holder, BR_TRANSACTION_COMPLETE);
	expect(other, BR_TRANSACTION_COMPLETE);
	request(other, object_at(expect(other, BR_REPLY), 0)->flat.handle, 2);
	request(s.holder, s.handle, 1);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 1);
	EXPECT_EQ(expect(other, BR_DEAD_BINDER)->cookie, 2);
}

TEST(death_of_the_manager, "The context manager's death is notified to holders of handle 0.")
{
	struct client *manager = manager_new(), *client = client_new();

	put_u32(client, BC_ACQUIRE, 0);
	request(client, 0, 0xabc);
	client_kill(manager);
	EXPECT_EQ(expect(client, BR_DEAD_BINDER)->cookie, 0xabc);
	call(client, 0);
	expect(client, BR_DEAD_REPLY);
}

TEST(death_of_weakly_held, "A weak handle is enough for a death notification.")
{
	struct client *holder = manager_new(), *server = client_new();
	const struct returned *got;

	got = call_received(server, 0, holder, .objects = { OBJ_WEAK_BINDER(0x10, 0x20) });
	put_u32(holder, BC_INCREFS, 1);
	complete_call(holder, got, server);
	request(holder, 1, 9);
	client_kill(server);
	EXPECT_EQ(expect(holder, BR_DEAD_BINDER)->cookie, 9);
}

TEST(death_wakes_a_blocked_reader, "A thread that waits in the loop is woken for the notification.")
{
	struct client *holder = manager_open((struct client_options){ .blocking = true });
	struct client *server = client_new();
	const struct returned *got;

	got = call_received(server, 0, holder, .objects = { OBJ_BINDER(0x10, 0x20) });
	put_u32(holder, BC_ACQUIRE, 1);
	complete_call(holder, got, server);
	request(holder, 1, 9);
	read_begin(holder);
	EXPECT_EQ(read_end(holder, 50), -EINPROGRESS);
	client_kill(server);
	EXPECT_OK(read_end(holder, EXPECT_TIMEOUT_MS));
	EXPECT_EQ(expect(holder, BR_DEAD_BINDER)->cookie, 9);
}

TEST(death_of_other_open, "Another open of the owner's process does not keep its objects alive.")
{
	struct client *holder = manager_new(), *server = client_new();
	struct client *again = client_again(server);
	uint32_t handle = give(server, holder, 0x10, 0x20, 0);
	uint32_t other = give(again, holder, 0x30, 0x40, 0);

	request(holder, handle, 1);
	request(holder, other, 2);
	client_close(server);
	EXPECT_EQ(expect(holder, BR_DEAD_BINDER)->cookie, 1);
	expect_nothing(holder);
	round_trip(holder, other, again);
}

TEST(death_of_a_holder_before_delivery, "A holder may end before it has read a death notification.")
{
	struct client *manager = manager_new(), *holder = client_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	put_u32(holder, BC_ACQUIRE, 0);
	request(holder, 0, 0xd0);
	request(manager, handle, 0xd1);
	client_kill_and_wait(server);
	client_kill_and_wait(manager);
	client_kill(holder);
	round_trip(client_new(), 0, manager_new());
}

TEST(death_of_a_holder_unanswered, "A holder may end before it has acknowledged a death.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	request(manager, handle, 0xd1);
	client_kill(server);
	expect(manager, BR_DEAD_BINDER);
	send_handle_cookie(manager, BC_CLEAR_DEATH_NOTIFICATION, handle, 0xd1);
	client_kill(manager);
	round_trip(client_new(), 0, manager_new());
}

TEST(death_clear_outside_the_loop,
     "A clear by a thread outside the loop is confirmed to any thread of the process.")
{
	struct client *holder = client_new(), *thread = client_thread(holder);

	manager_new();
	put_u32(holder, BC_ACQUIRE, 0);
	request(holder, 0, 0xd0);
	send_handle_cookie(holder, BC_CLEAR_DEATH_NOTIFICATION, 0, 0xd0);
	EXPECT_EQ(expect(thread, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 0xd0);
	expect_nothing(holder);
}

TEST(death_clear_while_delivered_outside_the_loop,
     "A clear by a thread outside the loop, after the notification, is confirmed to any thread.")
{
	struct client *manager = manager_new(), *holder = client_new();
	struct client *thread = client_thread(holder);

	put_u32(holder, BC_ACQUIRE, 0);
	request(holder, 0, 0xd0);
	client_kill(manager);
	expect(holder, BR_DEAD_BINDER);
	send_handle_cookie(holder, BC_CLEAR_DEATH_NOTIFICATION, 0, 0xd0);
	expect_nothing(thread);
	send_u64(holder, BC_DEAD_BINDER_DONE, 0xd0);
	EXPECT_EQ(expect(thread, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 0xd0);
}

TEST(death_clear_inside_the_loop,
     "A clear by a thread in the loop is confirmed to that thread only.")
{
	struct client *holder = client_new(), *thread = client_thread(holder);

	manager_new();
	put_cmd(holder, BC_ENTER_LOOPER);
	put_u32(holder, BC_ACQUIRE, 0);
	request(holder, 0, 0xd0);
	send_handle_cookie(holder, BC_CLEAR_DEATH_NOTIFICATION, 0, 0xd0);
	expect_nothing(thread);
	EXPECT_EQ(expect(holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 0xd0);
}

TEST(death_requested_late_outside_the_loop,
     "A notification requested after the death by a thread outside the loop goes to any thread.")
{
	struct client *manager = manager_new(), *holder = client_new();
	struct client *thread = client_thread(holder);

	send_u32(holder, BC_ACQUIRE, 0);
	client_kill_and_wait(manager);
	request(holder, 0, 0xd0);
	EXPECT_EQ(expect(thread, BR_DEAD_BINDER)->cookie, 0xd0);
}
