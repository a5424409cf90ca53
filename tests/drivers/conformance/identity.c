// SPDX-License-Identifier: GPL-2.0
/* Process and user ids across pid and user namespaces. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "expect.h"
#include "spaces.h"
#include "test.h"

/* One call is made, received and answered; returns what the receiver sees of its sender. */
static struct binder_transaction_data meet(struct client *from, struct client *manager)
{
	const struct returned *got;
	struct binder_transaction_data txn;

	got = call_received(from, 0, manager);
	txn = got->txn;
	complete_call(manager, got, from);
	return txn;
}

/* A client in a user namespace that maps only this user, to root of the machine. */
static struct client *client_where_root_is(uint32_t uid)
{
	return client_open((struct client_options){
		.by = actor_apart((struct id_map){ uid, 0, 1 }) });
}

TEST(identity_user_from_within,
     "sender_euid of a sender in a user namespace is its user id outside.")
{
	struct client *manager = manager_new();

	EXPECT_EQ(meet(client_where_root_is(5), manager).sender_euid, 0);
}

TEST(identity_user_seen_from_within,
     "A receiver in a user namespace sees the user id that the sender has there.")
{
	struct client *manager = client_where_root_is(5);

	become_manager(manager);
	send_cmd(manager, BC_ENTER_LOOPER);
	EXPECT_EQ(meet(client_new(), manager).sender_euid, 5);
}

TEST(identity_user_unknown_within,
     "A user without an id in the receiver's user namespace is shown as -1.")
{
	struct client *manager = client_where_root_is(5), *client = client_new();

	become_manager(manager);
	send_cmd(manager, BC_ENTER_LOOPER);
	client_set_euid(client, 1000);
	EXPECT_EQ(meet(client, manager).sender_euid, (uint32_t)-1);
}

/* Processes that the director forks from now on are in a new pid namespace. */
static void new_pids(void)
{
	if (unshare(CLONE_NEWPID))
		test_skip("needs pid namespaces");
}

static void old_pids(void)
{
	int fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	EXPECT(fd >= 0);
	EXPECT_EQ(setns(fd, CLONE_NEWPID), 0);
	close(fd);
}

static void ask_pid(void *arg)
{
	*(pid_t *)arg = getpid();
}

static pid_t own_pid(struct client *client)
{
	pid_t *pid = shared_alloc(sizeof(*pid));

	client_run(client, ask_pid, pid);
	return *pid;
}

TEST(identity_pid_from_within,
     "sender_pid of a sender in a child pid namespace is its pid in the receiver's namespace.",
     "kernel")
{
	struct client *manager = manager_new();
	struct client *client;

	new_pids();
	client = client_new();
	EXPECT_EQ(own_pid(client), 1);
	EXPECT_EQ(meet(client, manager).sender_pid, actor_pid(client->by));
}

TEST(identity_pid_unknown_within,
     "sender_pid is 0 for a sender that has no pid in the receiver's namespace.", "kernel")
{
	struct client *client = client_new();

	new_pids();
	EXPECT_EQ(meet(client, manager_new()).sender_pid, 0);
}

TEST(identity_pid_within, "Within a pid namespace sender_pid is the pid there.", "kernel")
{
	struct client *manager, *client;

	new_pids();
	manager = manager_new();
	client = client_new();
	EXPECT(own_pid(client) != actor_pid(client->by));
	EXPECT_EQ(meet(client, manager).sender_pid, own_pid(client));
}

TEST(identity_pid_of_siblings, "Between two sibling pid namespaces sender_pid is 0.", "kernel")
{
	struct client *manager;

	new_pids();
	manager = manager_new();
	old_pids();
	new_pids();
	EXPECT_EQ(meet(client_new(), manager).sender_pid, 0);
}

static int freeze_number(struct client *by, pid_t pid, bool enable)
{
	struct binder_freeze_info info = { .pid = (uint32_t)pid, .enable = enable };
	struct binder_frozen_status_info status = { .pid = (uint32_t)pid };
	int err = client_ioctl(by, BINDER_FREEZE, &info);

	EXPECT_EQ(client_ioctl(by, BINDER_GET_FROZEN_INFO, &status), err);
	return err;
}

TEST(identity_freeze_within,
     "BINDER_FREEZE and BINDER_GET_FROZEN_INFO take a pid of the caller's pid namespace.",
     "kernel freeze_callers_pid")
{
	struct client *manager = manager_new(), *server, *client;

	new_pids();
	server = client_new();
	client = client_new();
	give(server, manager, 0x10, 0x20, 0);
	EXPECT_ERR(freeze_number(client, actor_pid(server->by), true), EINVAL);
	EXPECT_ERR(freeze_number(client, 0, true), EINVAL);
	EXPECT_ERR(freeze_number(manager, own_pid(server), true), EINVAL);
	EXPECT_OK(freeze_number(client, own_pid(server), true));
	call(manager, 1);
	expect(manager, BR_FROZEN_REPLY);
	EXPECT_OK(freeze_number(manager, actor_pid(server->by), false));
	round_trip(manager, 1, server);
}

struct calling_child {
	struct client *client;
	atomic_bool go;
	pid_t pid;
};

static void call_in_child(void *arg)
{
	struct calling_child *child = arg;
	const struct binder_transaction_data call = { 0 };
	struct looper looper;
	pid_t pid = fork();

	if (pid) {
		child->pid = pid;
		return;
	}
	while (!atomic_load(&child->go))
		sleep_ms(1);
	looper_init(&looper, child->client->port);
	commands_put_call(&looper.out, &call);
	looper_flush(&looper);
	for (;;)
		pause();
}

/* What the manager sees as the sender of a call of a child, on the file of @client. */
static pid_t sender_of_child(struct client *client, struct client *manager, bool kill_parent)
{
	struct calling_child *child = shared_alloc(sizeof(*child));
	pid_t pid;

	child->client = client;
	client_run(client, call_in_child, child);
	if (kill_parent)
		client_kill(client);
	atomic_store(&child->go, true);
	pid = expect(manager, BR_TRANSACTION)->txn.sender_pid;
	kill(child->pid, SIGKILL);
	return pid;
}

TEST(identity_pid_is_the_openers,
     "sender_pid of a call by a forked child is the process that opened the device.",
     "fork_keeps_open")
{
	struct client *client = client_new();

	EXPECT_EQ(sender_of_child(client, manager_new(), false), actor_pid(client->by));
}

TEST(identity_pid_of_a_dead_opener,
     "sender_pid of a call by a forked child is 0 when the opener is dead.", "fork_keeps_open")
{
	EXPECT_EQ(sender_of_child(client_new(), manager_new(), true), 0);
}
