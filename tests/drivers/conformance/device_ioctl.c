// SPDX-License-Identifier: GPL-2.0
/* The ioctls of a device other than BINDER_WRITE_READ, also with bad arguments. */
#include <signal.h>
#include <string.h>

#include "expect.h"
#include "test.h"

TEST(ioctl_unknown_is_einval, "An unknown ioctl fails with EINVAL.")
{
	struct client *client = client_new();

	EXPECT_ERR(client_ioctl(client, _IOWR('b', 99, uint64_t), &(uint64_t){ 0 }), EINVAL);
	EXPECT_ERR(client_ioctl(client, _IOWR('x', 1, uint64_t), &(uint64_t){ 0 }), EINVAL);
	EXPECT_ERR(client_ioctl(client, 0, &(uint64_t){ 0 }), EINVAL);
}

TEST(ioctl_wrong_size_is_einval, "A known ioctl with another size of argument is unknown.")
{
	struct client *client = client_new();
	uint8_t room[256] = { 0 };

	EXPECT_ERR(client_ioctl(client, _IOWR('b', 1, uint32_t), room), EINVAL);
	EXPECT_ERR(client_ioctl(client, _IOWR('b', 9, uint64_t), room), EINVAL);
	EXPECT_ERR(client_ioctl(client, _IOW('b', 5, uint64_t), room), EINVAL);
}

TEST(ioctl_idle_timeout_is_einval,
     "The obsolete BINDER_SET_IDLE_TIMEOUT and _PRIORITY fail with EINVAL.")
{
	struct client *client = client_new();

	EXPECT_ERR(client_ioctl(client, BINDER_SET_IDLE_TIMEOUT, &(int64_t){ 0 }), EINVAL);
	EXPECT_ERR(client_ioctl(client, BINDER_SET_IDLE_PRIORITY, &(int32_t){ 0 }), EINVAL);
}

TEST(ioctl_bad_pointer_is_efault, "An argument at an unmapped address fails with EFAULT.")
{
	static const unsigned long cmds[] = {
		BINDER_WRITE_READ, BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF,
		BINDER_FREEZE, BINDER_GET_FROZEN_INFO, BINDER_ENABLE_ONEWAY_SPAM_DETECTION,
		BINDER_GET_EXTENDED_ERROR,
	};
	struct client *client = client_new();

	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		int ret = client_ioctl_raw(client, cmds[i], 16);

		if (ret != -EFAULT)
			FAIL("ioctl 0x%lx with a bad pointer gave %d", cmds[i], ret);
	}
}

TEST(ioctl_bad_pointer_is_einval_for_some,
     "The oldest ioctls fail with EINVAL for an argument at an unmapped address.",
     "bad_pointer_einval")
{
	struct client *client = client_new();

	EXPECT_ERR(client_ioctl_raw(client, BINDER_VERSION, 16), EINVAL);
	EXPECT_ERR(client_ioctl_raw(client, BINDER_SET_MAX_THREADS, 16), EINVAL);
	EXPECT_ERR(client_ioctl_raw(client, BINDER_SET_CONTEXT_MGR_EXT, 16), EINVAL);
}

TEST(ioctl_set_max_threads_takes_any, "BINDER_SET_MAX_THREADS takes any number.")
{
	struct client *client = client_new();

	EXPECT_OK(client_ioctl(client, BINDER_SET_MAX_THREADS, &(uint32_t){ 0 }));
	EXPECT_OK(client_ioctl(client, BINDER_SET_MAX_THREADS, &(uint32_t){ 15 }));
	EXPECT_OK(client_ioctl(client, BINDER_SET_MAX_THREADS, &(uint32_t){ 0xffffffff }));
}

TEST(ioctl_spam_detection_is_accepted,
     "BINDER_ENABLE_ONEWAY_SPAM_DETECTION can be enabled and disabled.")
{
	struct client *client = client_new();

	EXPECT_OK(client_ioctl(client, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &(uint32_t){ 1 }));
	EXPECT_OK(client_ioctl(client, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &(uint32_t){ 0 }));
}

/* hwservicemanager knows the number; no header has it. */
#define BINDER_SET_INHERIT_FIFO_PRIO _IO('b', 10)

TEST(ioctl_inherit_fifo_is_accepted,
     "BINDER_SET_INHERIT_FIFO_PRIO ('b', 10) is accepted from the user of the context manager.",
     "inherit_rt")
{
	struct client *client = client_new(), *manager = manager_new();

	EXPECT_OK(client_ioctl(client, BINDER_SET_INHERIT_FIFO_PRIO, NULL));
	EXPECT_OK(client_ioctl(manager, BINDER_SET_INHERIT_FIFO_PRIO, NULL));
	round_trip(client, 0, manager);
}

TEST(thread_exit_and_on, "After BINDER_THREAD_EXIT the thread may use the device again.")
{
	struct client *manager = manager_new(), *client = client_new();

	round_trip(client, 0, manager);
	EXPECT_OK(client_ioctl(client, BINDER_THREAD_EXIT, &(int32_t){ 0 }));
	EXPECT_OK(client_ioctl(client, BINDER_THREAD_EXIT, &(int32_t){ 0 }));
	round_trip(client, 0, manager);
}

TEST(thread_exit_fails_the_call_it_serves,
     "A thread that exits while it serves a call leaves its caller with BR_DEAD_REPLY.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_received(client, 0, manager);
	EXPECT_OK(client_ioctl(manager, BINDER_THREAD_EXIT, &(int32_t){ 0 }));
	expect_sent(client, BR_DEAD_REPLY);
	expect_nothing(client);
	round_trip(client, 0, manager);
}

TEST(thread_exit_abandons_its_call,
     "A thread that exits while it waits for a reply never gets it; the server does not "
     "notice.")
{
	struct client *manager = manager_new(), *client = client_new();

	put_free(manager, call_received(client, 0, manager));
	EXPECT_OK(client_ioctl(client, BINDER_THREAD_EXIT, &(int32_t){ 0 }));
	reply(manager);
	expect_only(manager, BR_TRANSACTION_COMPLETE);
	expect_nothing(client);
	round_trip(client, 0, manager);
}

TEST(node_debug_info_walks_the_nodes,
     "BINDER_GET_NODE_DEBUG_INFO gives the node after ptr, in order, and zeros at the end.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct binder_node_debug_info info = { 0 };

	give(server, manager, 0x3000, 0x33, 0);
	give(server, manager, 0x1000, 0x11, 0);
	give(server, manager, 0x2000, 0x22, 0);
	for (uint64_t want = 0x1000; want <= 0x3000; want += 0x1000) {
		EXPECT_OK(client_ioctl(server, BINDER_GET_NODE_DEBUG_INFO, &info));
		EXPECT_EQ(info.ptr, want);
		EXPECT_EQ(info.cookie, want / 0x1000 * 0x11);
		EXPECT_EQ(info.has_strong_ref, 1);
		EXPECT_EQ(info.has_weak_ref, 1);
	}
	EXPECT_OK(client_ioctl(server, BINDER_GET_NODE_DEBUG_INFO, &info));
	EXPECT_EQ(info.ptr, 0);
	EXPECT_EQ(info.cookie, 0);
	EXPECT_EQ(info.has_strong_ref, 0);
}

TEST(node_debug_info_starts_between_nodes, "The walk of nodes may start at a ptr that is no node.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct binder_node_debug_info info = { .ptr = 0x1800 };

	give(server, manager, 0x1000, 0x11, 0);
	give(server, manager, 0x2000, 0x22, 0);
	EXPECT_OK(client_ioctl(server, BINDER_GET_NODE_DEBUG_INFO, &info));
	EXPECT_EQ(info.ptr, 0x2000);
}

TEST(node_info_for_ref_counts,
     "The context manager can ask for the reference counts of a node by its handle.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct binder_node_info_for_ref info = { 0 };

	info.handle = give(server, manager, 0x1000, 0x11, 0);
	EXPECT_OK(client_ioctl(manager, BINDER_GET_NODE_INFO_FOR_REF, &info));
	EXPECT_EQ(info.strong_count, 1);
	EXPECT_EQ(info.weak_count, 0);
	send_u32(manager, BC_INCREFS, info.handle);
	info = (struct binder_node_info_for_ref){ .handle = info.handle };
	EXPECT_OK(client_ioctl(manager, BINDER_GET_NODE_INFO_FOR_REF, &info));
	EXPECT_EQ(info.strong_count, 1);
	EXPECT_EQ(info.weak_count, 0);
}

TEST(node_info_for_ref_is_the_managers,
     "Other processes get EPERM from BINDER_GET_NODE_INFO_FOR_REF.")
{
	struct client *client;
	struct binder_node_info_for_ref info = { 0 };

	manager_new();
	client = client_new();
	EXPECT_ERR(client_ioctl(client, BINDER_GET_NODE_INFO_FOR_REF, &info), EPERM);
}

TEST(node_info_for_ref_unknown_handle, "For an unknown handle the context manager gets EINVAL.")
{
	struct client *manager = manager_new();
	struct binder_node_info_for_ref info = { .handle = 77 };

	EXPECT_ERR(client_ioctl(manager, BINDER_GET_NODE_INFO_FOR_REF, &info), EINVAL);
}

TEST(node_info_for_ref_reserved_fields, "A non-zero field other than the handle fails with EINVAL.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct binder_node_info_for_ref info = { 0 };
	uint32_t handle = give(server, manager, 0x1000, 0x11, 0);

	for (size_t field = 1; field < sizeof(info) / sizeof(uint32_t); field++) {
		memset(&info, 0, sizeof(info));
		info.handle = handle;
		((uint32_t *)&info)[field] = 1;
		EXPECT_ERR(client_ioctl(manager, BINDER_GET_NODE_INFO_FOR_REF, &info), EINVAL);
	}
}

TEST(extended_error_is_ok_at_first,
     "Without a failure the extended error is BR_OK with id 0 and param 0.")
{
	struct binder_extended_error error = extended_error(client_new());

	EXPECT_EQ(error.id, 0);
	EXPECT_EQ(error.command, BR_OK);
	EXPECT_EQ(error.param, 0);
}

TEST(extended_error_describes_the_failure,
     "After a failed call the extended error has its BR_ command and -errno, once.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct binder_extended_error error;

	(void)manager;
	call_fails(client, 99);
	error = extended_error(client);
	EXPECT(error.id != 0);
	EXPECT_EQ(error.command, BR_FAILED_REPLY);
	EXPECT_EQ(error.param, -EINVAL);
	error = extended_error(client);
	EXPECT_EQ(error.id, 0);
	EXPECT_EQ(error.command, BR_OK);
	EXPECT_EQ(error.param, 0);
}

TEST(extended_error_of_exhaustion_is_enospc,
     "A payload that does not fit leaves -ENOSPC as extended error.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 16 * 1024 });
	struct client *client = client_new();
	struct binder_extended_error error;

	(void)manager;
	call_fails(client, 0, .size = 20 * 1024);
	error = extended_error(client);
	EXPECT_EQ(error.command, BR_FAILED_REPLY);
	EXPECT_EQ(error.param, -ENOSPC);
}

TEST(extended_error_is_per_thread, "The failure of one thread does not show in another.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct client *thread = client_thread(client);

	(void)manager;
	call_fails(client, 99);
	EXPECT_EQ(extended_error(thread).command, BR_OK);
	EXPECT_EQ(extended_error(client).command, BR_FAILED_REPLY);
}

TEST(extended_error_of_dead_is_esrch,
     "A call to a dead node leaves BR_DEAD_REPLY with -ESRCH as extended error.")
{
	struct client *manager = manager_open((struct client_options){ .no_map = true });
	struct client *client = client_new();
	struct binder_extended_error error;

	(void)manager;
	call(client, 0);
	expect(client, BR_DEAD_REPLY);
	error = extended_error(client);
	EXPECT_EQ(error.command, BR_DEAD_REPLY);
	EXPECT_EQ(error.param, -ESRCH);
}

TEST(node_debug_info_after_the_last,
     "After the highest ptr BINDER_GET_NODE_DEBUG_INFO returns zeros.")
{
	struct client *manager = manager_new(), *owner = client_new();
	struct binder_node_debug_info info = { .ptr = ~0ull, .cookie = 7, .has_weak_ref = 7 };

	give(owner, manager, ~0ull, 1, 0);
	EXPECT_OK(client_ioctl(owner, BINDER_GET_NODE_DEBUG_INFO, &info));
	EXPECT_EQ(info.ptr, 0);
	EXPECT_EQ(info.cookie, 0);
	EXPECT_EQ(info.has_weak_ref, 0);
}

TEST(node_info_for_ref_without_manager,
     "Without a context manager BINDER_GET_NODE_INFO_FOR_REF fails with EPERM.")
{
	struct client *client = client_new();
	struct binder_node_info_for_ref info = { .handle = 0 };

	EXPECT_ERR(client_ioctl(client, BINDER_GET_NODE_INFO_FOR_REF, &info), EPERM);
}
