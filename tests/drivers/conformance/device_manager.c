// SPDX-License-Identifier: GPL-2.0
/* The context manager: which process may become it, and what handle 0 means without one. */
#include <unistd.h>

#include "expect.h"
#include "test.h"

static int set_manager(struct client *client)
{
	int zero = 0;

	return client_ioctl(client, BINDER_SET_CONTEXT_MGR, &zero);
}

TEST(manager_is_one_per_device,
     "A device that has a context manager refuses another one with EBUSY.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_ERR(set_manager(client), EBUSY);
	EXPECT_ERR(set_manager(manager), EBUSY);
	round_trip(client, 0, manager);
}

TEST(manager_of_other_device_is_separate, "Each device has a context manager of its own.")
{
	struct client_options elsewhere = { .device = test_other_device() };
	struct client *manager = manager_new(), *other = manager_open(elsewhere);
	struct client *client = client_open(elsewhere);

	round_trip(client, 0, other);
	round_trip(client_new(), 0, manager);
	expect_nothing(other);
}

TEST(manager_may_be_replaced_after_death,
     "When the context manager has died another process may become manager.")
{
	struct client *manager = manager_new(), *client = client_new(), *heir = client_new();

	client_kill(manager);
	become_manager(heir);
	round_trip(client, 0, heir);
}

TEST(manager_close_frees_the_place, "Closing its file makes room for another context manager.")
{
	struct client *manager = manager_new(), *heir = client_new();

	client_close(manager);
	become_manager(heir);
	round_trip(client_new(), 0, heir);
}

TEST(manager_uid_is_remembered,
     "After a context manager of one user, another user is refused with EPERM.", "kernel")
{
	struct client *manager = manager_new(), *heir = client_new();
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;
	int ret;

	if (geteuid())
		test_skip("needs to change its user id");
	client_kill(manager);
	client_set_euid(heir, 1000);
	while ((ret = set_manager(heir)) == -EBUSY && now_ms() < deadline)
		sleep_ms(2);
	EXPECT_EQ(ret, -EPERM);
	client_set_euid(heir, 0);
	EXPECT_OK(set_manager(heir));
}

TEST(manager_ext_sets_flags,
     "BINDER_SET_CONTEXT_MGR_EXT makes a context manager as the plain form does.")
{
	struct client *manager = client_new(), *client = client_new();
	struct flat_binder_object object = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = 0x7f | FLAT_BINDER_FLAG_ACCEPTS_FDS,
	};
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;
	int ret;

	while ((ret = client_ioctl(manager, BINDER_SET_CONTEXT_MGR_EXT, &object)) == -EBUSY &&
	       now_ms() < deadline)
		sleep_ms(2);
	EXPECT_OK(ret);
	EXPECT_ERR(client_ioctl(client, BINDER_SET_CONTEXT_MGR_EXT, &object), EBUSY);
	round_trip(client, 0, manager);
}

TEST(manager_ext_names_its_object,
     "A call to handle 0 carries the ptr and cookie that the manager passed.")
{
	struct client *manager = client_new(), *client = client_new();
	struct flat_binder_object object = {
		.hdr.type = BINDER_TYPE_BINDER, .binder = 0x1234, .cookie = 0x5678,
	};
	const struct returned *got;
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;
	int ret;

	while ((ret = client_ioctl(manager, BINDER_SET_CONTEXT_MGR_EXT, &object)) == -EBUSY &&
	       now_ms() < deadline)
		sleep_ms(2);
	EXPECT_OK(ret);
	got = call_received(client, 0, manager);
	EXPECT_EQ(got->txn.target.ptr, 0x1234);
	EXPECT_EQ(got->txn.cookie, 0x5678);
}

TEST(manager_target_is_zero, "A call to a plain context manager carries ptr 0 and cookie 0.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got = call_received(client, 0, manager);

	EXPECT_EQ(got->txn.target.ptr, 0);
	EXPECT_EQ(got->txn.cookie, 0);
}

TEST(manager_may_not_call_itself, "A context manager that calls handle 0 gets BR_FAILED_REPLY.")
{
	struct client *manager = manager_new();

	call_fails(manager, 0);
	expect_nothing(manager);
}

TEST(manager_process_may_not_call_it,
     "Another open of the manager's process cannot call handle 0 either.")
{
	struct client *manager = manager_new(), *again = client_again(manager);

	call_fails(again, 0);
	expect_nothing(manager);
}

TEST(manager_absent_is_a_dead_reply,
     "A call to handle 0 of a device without a manager gets BR_DEAD_REPLY.")
{
	struct client *manager = manager_new(), *client = client_new();

	client_close(manager);
	sleep_ms(CLEANUP_MS);
	call(client, 0);
	expect_only(client, BR_DEAD_REPLY);
}

TEST(manager_successor_takes_over_handle_0,
     "Handle 0 refers to the present manager, even for processes with a reference to the "
     "former one.")
{
	struct client *manager = manager_new(), *client = client_new(), *heir = client_new();

	round_trip(client, 0, manager);
	send_u32(client, BC_ACQUIRE, 0);
	client_kill(manager);
	become_manager(heir);
	round_trip(client, 0, heir);
}

TEST(manager_ext_does_not_look_at_the_type, "The type of the manager's object is ignored.")
{
	struct client *client = client_new();
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_FD, .binder = 3, .cookie = 4 };

	EXPECT_OK(client_ioctl(client, BINDER_SET_CONTEXT_MGR_EXT, &self));
	call(client_new(), 0);
	EXPECT_EQ(expect(client, BR_TRANSACTION)->txn.target.ptr, 3);
}
