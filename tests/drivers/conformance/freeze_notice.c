// SPDX-License-Identifier: GPL-2.0
/* Freeze notifications: holders of handles are notified when the owner is frozen and thawed. */
#include "expect.h"
#include "test.h"

static int try_request(struct client *client, uint32_t handle, uint64_t cookie)
{
	put_handle_cookie(client, BC_REQUEST_FREEZE_NOTIFICATION, handle, cookie);
	return try_flush(client);
}

static int try_clear(struct client *client, uint32_t handle, uint64_t cookie)
{
	put_handle_cookie(client, BC_CLEAR_FREEZE_NOTIFICATION, handle, cookie);
	return try_flush(client);
}

static int try_done(struct client *client, uint64_t cookie)
{
	put_u64(client, BC_FREEZE_NOTIFICATION_DONE, cookie);
	return try_flush(client);
}

/* The client is notified of the state, and acknowledges it. */
static void expect_state(struct client *client, uint64_t cookie, bool frozen)
{
	const struct returned *got = expect(client, BR_FROZEN_BINDER);

	EXPECT_EQ(got->frozen.cookie, cookie);
	EXPECT_EQ(got->frozen.is_frozen, frozen);
	EXPECT_EQ(got->frozen.reserved, 0);
}

static void expect_state_and_answer(struct client *client, uint64_t cookie, bool frozen)
{
	expect_state(client, cookie, frozen);
	EXPECT_OK(try_done(client, cookie));
}

TEST(frozen_notice_gives_the_present_state,
     "A request is answered at once with the present state.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	expect_state_and_answer(s.holder, 0xf1, false);
	expect_nothing(s.holder);
}

TEST(frozen_notice_of_a_frozen_one,
     "Requested of a frozen process, the first notification says frozen.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	expect_state_and_answer(s.holder, 0xf1, true);
	expect_nothing(s.holder);
}

TEST(frozen_notice_of_changes, "Each change is notified.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	expect_state_and_answer(s.holder, 0xf1, false);
	for (int i = 0; i < 3; i++) {
		EXPECT_OK(freeze(s.holder, s.server, true, 0));
		expect_state_and_answer(s.holder, 0xf1, true);
		EXPECT_OK(freeze(s.holder, s.server, false, 0));
		expect_state_and_answer(s.holder, 0xf1, false);
	}
	expect_nothing(s.holder);
}

TEST(frozen_notice_of_unchanged_state,
     "Freezing a frozen process notifies again that it is frozen.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	expect_state_and_answer(s.holder, 0xf1, false);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_state_and_answer(s.holder, 0xf1, true);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_state_and_answer(s.holder, 0xf1, true);
	expect_nothing(s.holder);
}

TEST(frozen_notice_unread_changes_merge,
     "Changes while the last notification is unread become one notification.",
     "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_state_and_answer(s.holder, 0xf1, true);
	expect_nothing(s.holder);
	EXPECT_OK(freeze(s.holder, s.server, false, 0));
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	EXPECT_OK(freeze(s.holder, s.server, false, 0));
	expect_state_and_answer(s.holder, 0xf1, false);
	expect_nothing(s.holder);
}

TEST(frozen_notice_waits_for_the_answer,
     "No change is notified before the last notification is acknowledged.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	expect_state(s.holder, 0xf1, false);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_nothing(s.holder);
	EXPECT_OK(try_done(s.holder, 0xf1));
	expect_state_and_answer(s.holder, 0xf1, true);
	expect_nothing(s.holder);
}

TEST(frozen_notice_there_and_back_unanswered,
     "After a change and its reversal before the acknowledgement, the state is notified once "
     "more.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 0xf1));
	expect_state(s.holder, 0xf1, false);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	EXPECT_OK(freeze(s.holder, s.server, false, 0));
	expect_nothing(s.holder);
	EXPECT_OK(try_done(s.holder, 0xf1));
	expect_state_and_answer(s.holder, 0xf1, false);
	expect_nothing(s.holder);
}

TEST(frozen_notice_unknown_handle,
     "A request for an unknown handle fails with EINVAL.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_ERR(try_request(s.holder, 88, 1), EINVAL);
	EXPECT_ERR(try_clear(s.holder, 88, 1), EINVAL);
	round_trip(s.holder, s.handle, s.server);
}

TEST(frozen_notice_double_request, "A second request for a handle fails with EINVAL.",
     "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	EXPECT_ERR(try_request(s.holder, s.handle, 1), EINVAL);
	EXPECT_ERR(try_request(s.holder, s.handle, 2), EINVAL);
	expect_state_and_answer(s.holder, 1, false);
	expect_nothing(s.holder);
}

TEST(frozen_notice_wrong_cookie,
     "Acknowledgements and clears with another cookie fail with EINVAL.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	EXPECT_ERR(try_done(s.holder, 1), EINVAL);
	expect_state(s.holder, 1, false);
	EXPECT_ERR(try_done(s.holder, 2), EINVAL);
	EXPECT_ERR(try_clear(s.holder, s.handle, 2), EINVAL);
	EXPECT_OK(try_done(s.holder, 1));
	EXPECT_ERR(try_done(s.holder, 1), EINVAL);
	expect_nothing(s.holder);
}

TEST(frozen_notice_clear_unrequested,
     "A clear without a request fails with EINVAL.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_ERR(try_clear(s.holder, s.handle, 1), EINVAL);
}

TEST(frozen_notice_clear,
     "A clear is confirmed, and further changes are not notified.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_state_and_answer(s.holder, 1, false);
	EXPECT_OK(try_clear(s.holder, s.handle, 1));
	EXPECT_EQ(expect(s.holder, BR_CLEAR_FREEZE_NOTIFICATION_DONE)->cookie, 1);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_nothing(s.holder);
	EXPECT_ERR(try_clear(s.holder, s.handle, 1), EINVAL);
}

TEST(frozen_notice_clear_before_delivery,
     "A clear before the first notification is confirmed alone.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	EXPECT_OK(try_clear(s.holder, s.handle, 1));
	EXPECT_EQ(expect(s.holder, BR_CLEAR_FREEZE_NOTIFICATION_DONE)->cookie, 1);
	expect_nothing(s.holder);
}

TEST(frozen_notice_clear_before_answer,
     "A clear before the acknowledgement is confirmed by the acknowledgement.",
     "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_state(s.holder, 1, false);
	EXPECT_OK(try_clear(s.holder, s.handle, 1));
	expect_nothing(s.holder);
	EXPECT_OK(try_done(s.holder, 1));
	EXPECT_EQ(expect(s.holder, BR_CLEAR_FREEZE_NOTIFICATION_DONE)->cookie, 1);
	expect_nothing(s.holder);
}

TEST(frozen_notice_clear_and_request_again,
     "After a clear, notifications may be requested again.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_state_and_answer(s.holder, 1, false);
	EXPECT_OK(try_clear(s.holder, s.handle, 1));
	expect(s.holder, BR_CLEAR_FREEZE_NOTIFICATION_DONE);
	EXPECT_OK(try_request(s.holder, s.handle, 2));
	expect_state_and_answer(s.holder, 2, false);
}

TEST(frozen_notice_of_the_dead,
     "A request for a dead object is accepted, and nothing is notified.", "freeze_notification")
{
	struct holding s = holding_new();

	client_kill(s.server);
	sleep_ms(50);
	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_nothing(s.holder);
}

TEST(frozen_notice_owner_dies,
     "The death of a frozen owner is not notified as thawing.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_state_and_answer(s.holder, 1, true);
	client_kill(s.server);
	sleep_ms(50);
	expect_nothing(s.holder);
	EXPECT_OK(try_clear(s.holder, s.handle, 1));
	EXPECT_EQ(expect(s.holder, BR_CLEAR_FREEZE_NOTIFICATION_DONE)->cookie, 1);
}

TEST(frozen_notice_release,
     "When its handle is released, a request is dropped.", "freeze_notification")
{
	struct holding s = holding_new();

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_state_and_answer(s.holder, 1, false);
	send_u32(s.holder, BC_RELEASE, s.handle);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_nothing(s.holder);
	EXPECT_ERR(try_clear(s.holder, s.handle, 1), EINVAL);
}

TEST(frozen_notice_two_objects,
     "Each object of the frozen process is notified with its own cookie.", "freeze_notification")
{
	struct holding s = holding_new();
	uint32_t other = give(s.server, s.holder, 0x30, 0x40, 0);
	uint64_t sum = 0;

	EXPECT_OK(try_request(s.holder, s.handle, 1));
	expect_state_and_answer(s.holder, 1, false);
	EXPECT_OK(try_request(s.holder, other, 2));
	expect_state_and_answer(s.holder, 2, false);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	for (int i = 0; i < 2; i++) {
		const struct returned *got = expect(s.holder, BR_FROZEN_BINDER);

		EXPECT_EQ(got->frozen.is_frozen, 1);
		sum += got->frozen.cookie;
		EXPECT_OK(try_done(s.holder, got->frozen.cookie));
	}
	EXPECT_EQ(sum, 3);
	expect_nothing(s.holder);
}

TEST(frozen_notice_beside_death, "Death and freeze notifications of one handle are separate.",
     "freeze_notification")
{
	struct holding s = holding_new();

	put_handle_cookie(s.holder, BC_REQUEST_DEATH_NOTIFICATION, s.handle, 7);
	EXPECT_OK(try_request(s.holder, s.handle, 7));
	expect_state_and_answer(s.holder, 7, false);
	EXPECT_OK(freeze(s.holder, s.server, true, 0));
	expect_state_and_answer(s.holder, 7, true);
	client_kill(s.server);
	EXPECT_EQ(expect(s.holder, BR_DEAD_BINDER)->cookie, 7);
}

TEST(frozen_notice_holder_dies, "A holder may die with registrations in every state.",
     "freeze_notification")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t first = give(server, manager, 0x10, 1, 0);
	uint32_t second = give(server, manager, 0x20, 2, 0);
	uint32_t third = give(server, manager, 0x30, 3, 0);

	EXPECT_OK(try_request(manager, first, 1));
	expect_state(manager, 1, false);
	EXPECT_OK(try_request(manager, second, 2));
	expect_state_and_answer(manager, 2, false);
	EXPECT_OK(try_request(manager, third, 3));
	EXPECT_OK(try_clear(manager, second, 2));
	client_kill(manager);
	manager = manager_new();
	EXPECT_OK(freeze(manager, server, true, 0));
	EXPECT_OK(freeze(manager, server, false, 0));
	round_trip(server, 0, manager);
}

TEST(frozen_notice_outside_the_loop,
     "The notifications and confirmations of a thread outside the loop go to any thread.",
     "freeze_notification")
{
	struct client *holder = client_new(), *thread = client_thread(holder);

	manager_new();
	put_u32(holder, BC_ACQUIRE, 0);
	send_handle_cookie(holder, BC_REQUEST_FREEZE_NOTIFICATION, 0, 0xf0);
	EXPECT_EQ(expect(thread, BR_FROZEN_BINDER)->frozen.cookie, 0xf0);
	put_u64(thread, BC_FREEZE_NOTIFICATION_DONE, 0xf0);
	put_handle_cookie(holder, BC_CLEAR_FREEZE_NOTIFICATION, 0, 0xf0);
	flush(thread);
	flush(holder);
	EXPECT_EQ(expect(thread, BR_CLEAR_FREEZE_NOTIFICATION_DONE)->cookie, 0xf0);
}

TEST(frozen_notice_of_a_holder_that_ends,
     "A holder may end at any stage of a notification.", "freeze_notification")
{
	struct client *manager = manager_new();

	for (int step = 0; step < 4; step++) {
		struct client *holder = client_new();

		put_u32(holder, BC_ACQUIRE, 0);
		send_handle_cookie(holder, BC_REQUEST_FREEZE_NOTIFICATION, 0, 0xf0);
		if (step > 0)
			expect(holder, BR_FROZEN_BINDER);
		if (step > 1)
			EXPECT_OK(freeze(client_new(), manager, step == 2, 0));
		if (step > 2) {
			send_handle_cookie(holder, BC_CLEAR_FREEZE_NOTIFICATION, 0, 0xf0);
		}
		client_kill(holder);
	}
	round_trip(client_new(), 0, manager);
}
