// SPDX-License-Identifier: GPL-2.0
/*
 * What a security module refuses, as the driver's callers see it. The domains are those of
 * tests/kernel/selinux/domains.cil: each lacks one permission. A process is judged by the domain in
 * which it opened the device.
 */
#include <string.h>

#include "spaces.h"
#include "expect.h"
#include "files.h"
#include "test.h"

/* The call just sent is refused with EPERM and does not reach the server. */
static void expect_refused(struct client *client, struct client *server)
{
	expect(client, BR_FAILED_REPLY);
	EXPECT_EQ(extended_error(client).param, -EPERM);
	expect_nothing(server);
}

TEST(policy_manager_refused,
     "A process that may not become context manager gets EACCES, and the place stays free.",
     "selinux_refuses")
{
	struct client *client = client_in("no_manage");
	int zero = 0;

	EXPECT_ERR(ask_to_manage(client, BINDER_SET_CONTEXT_MGR, &zero), EACCES);
	round_trip(client, 0, manager_new());
}

TEST(policy_manager_refused_with_object,
     "BINDER_SET_CONTEXT_MGR_EXT of a process that may not be context manager fails with EACCES.",
     "selinux_refuses")
{
	struct flat_binder_object object = { .hdr = { BINDER_TYPE_BINDER } };
	struct client *client = client_in("no_manage");

	EXPECT_ERR(ask_to_manage(client, BINDER_SET_CONTEXT_MGR_EXT, &object), EACCES);
}

TEST(policy_manager_busy_comes_first,
     "If there is a context manager the answer is EBUSY, also to those that may not become one.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("no_manage");
	int zero = 0;

	EXPECT_ERR(client_ioctl(client, BINDER_SET_CONTEXT_MGR, &zero), EBUSY);
	round_trip(client, 0, manager);
}

TEST(policy_call_refused,
     "A call that the caller may not make gets BR_FAILED_REPLY and EPERM; the target sees nothing.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("no_call");

	call(client, 0);
	expect_refused(client, manager);
	round_trip(client_in("app"), 0, manager);
}

TEST(policy_oneway_refused,
     "A one-way call that the sender may not make gets BR_FAILED_REPLY, too.", "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("no_call");

	call_oneway(client, 0);
	expect_refused(client, manager);
}

TEST(policy_dead_comes_first,
     "Without a context manager the answer is BR_DEAD_REPLY, whether the caller may call or not.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("no_call");

	client_close(manager);
	sleep_ms(CLEANUP_MS);
	call(client, 0);
	expect(client, BR_DEAD_REPLY);
}

TEST(policy_reply_is_no_call, "A process that may not call may reply.", "selinux_refuses")
{
	struct client *manager = client_in("no_call");

	become_manager(manager);
	round_trip(client_new(), 0, manager);
}

TEST(policy_judged_by_the_open,
     "A process is judged by what it was as it opened the device, not by what it has become.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("app");
	struct client *refused = client_in("no_call");

	enter_domain(client, "no_call");
	round_trip(client, 0, manager);
	enter_domain(refused, "app");
	call(refused, 0);
	expect_refused(refused, manager);
}

TEST(policy_sender_of_objects_by_the_open,
     "A process that sends objects is judged by what it was as it opened the device.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("app");
	struct client *refused = client_in("no_transfer");

	enter_domain(client, "no_transfer");
	give(client, manager, 0x10, 0x20, 0);
	enter_domain(refused, "app");
	call(refused, 0, .objects = { OBJ_BINDER(0x10, 0x20) });
	expect_refused(refused, manager);
}

TEST(policy_manager_by_the_request,
     "A process that would become context manager is judged by what it is as it asks.",
     "selinux_refuses")
{
	struct client *client = client_in("no_manage");
	struct client *refused = client_in("app");
	int zero = 0;

	enter_domain(refused, "no_manage");
	EXPECT_ERR(ask_to_manage(refused, BINDER_SET_CONTEXT_MGR, &zero), EACCES);
	enter_domain(client, "app");
	become_manager(client);
}

TEST(policy_impersonation_refused,
     "A process that has changed its domain since needs the permission to call as what it was.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("app");

	round_trip(client, 0, manager);
	enter_domain(client, "no_impersonate");
	call(client, 0);
	expect_refused(client, manager);
	enter_domain(client, "other");
	round_trip(client, 0, manager);
}

TEST(policy_object_refused,
     "A call with an object of its own that the caller may not transfer is refused with EPERM.",
     "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("no_transfer");

	call(client, 0, .objects = { OBJ_BINDER(0x10, 0x20) });
	expect_refused(client, manager);
	call(client, 0, .objects = { OBJ_WEAK_BINDER(0x10, 0x20) });
	expect_refused(client, manager);
	round_trip(client, 0, manager);
	EXPECT_EQ(give(client_in("app"), manager, 0x10, 0x20, 0), 1);
}

TEST(policy_handle_refused,
     "A call with a handle that the caller may not transfer is refused, also one of the "
     "receiver's object.", "selinux_refuses")
{
	struct client *manager = manager_new(), *third = client_new();
	struct client *client = client_in("no_transfer");
	uint32_t handle = give(third, manager, 0x10, 0x20, 0);
	const struct returned *got;

	put_free(manager, call_received(client, 0, manager));
	reply(manager, .objects = { OBJ_BINDER(0x30, 0x40), OBJ_HANDLE(handle) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	for (size_t i = 0; i < 2; i++) {
		call(client, 0, .objects = { OBJ_HANDLE(object_at(got, i)->flat.handle) });
		expect_refused(client, manager);
	}
	round_trip(client, 0, manager);
}

TEST(policy_object_in_reply_refused,
     "A reply with an object that the replying process may not transfer fails at the caller only.",
     "selinux_refuses")
{
	struct client *manager = client_in("no_transfer");
	struct client *client = client_new();

	become_manager(manager);
	put_free(manager, call_received(client, 0, manager));
	reply(manager, .objects = { OBJ_BINDER(0x10, 0x20) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
	round_trip(client, 0, manager);
}

/* A process, handle 1 of the manager, that may not use files that another domain has opened. */
static struct client *server_without_files(struct client *manager)
{
	struct client *server = client_in("no_fd");

	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	return server;
}

TEST(policy_file_refused,
     "A file that the receiver may not use is not sent: the call is refused with EPERM.",
     "selinux_refuses selinux_checks_files")
{
	struct client *manager = manager_new(), *server = server_without_files(manager);
	int fd = make_file(manager, "secret");

	call(manager, 1, .objects = { OBJ_FD((uint32_t)fd) });
	expect_refused(manager, server);
	expect_file(manager, fd, "secret");
	round_trip(manager, 1, server);
}

TEST(policy_file_array_refused,
     "An array with a file that the receiver may not use is refused with EPERM.",
     "selinux_refuses selinux_checks_files")
{
	struct client *manager = manager_new(), *server = server_without_files(manager);
	int first = make_file(manager, "first"), second = make_file(manager, "second");
	uint32_t words[] = { (uint32_t)first, (uint32_t)second };

	call(manager, 1, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_copy(words, sizeof(words)), sizeof(words)),
			  OBJ_FDA(2, 0, 0) });
	expect_refused(manager, server);
	round_trip(manager, 1, server);
}

TEST(policy_file_in_reply_refused,
     "A reply with a file that the caller may not use fails at the caller only.", "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *client = client_in("no_fd");
	int fd = make_file(manager, "secret");

	call(client, 0, .flags = TF_ACCEPT_FDS);
	answer_with(manager, expect(manager, BR_TRANSACTION), .objects = { OBJ_FD((uint32_t)fd) });
	expect_sent(client, BR_FAILED_REPLY);
	round_trip(client, 0, manager);
}

TEST(policy_file_allowed, "A file that the receiver may use arrives.", "selinux_refuses")
{
	struct client *manager = manager_new();
	struct client *server = client_in("app");
	int fd = make_file(manager, "open");
	const struct returned *got;

	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	got = call_received(manager, 1, server, .objects = { OBJ_FD((uint32_t)fd) });
	expect_file(server, (int)object_at(got, 0)->fd.fd, "open");
}

/* Where the file is checked as it is installed, the sender is told after it was (the daemon). */
TEST(policy_file_does_not_arrive,
     "A file that the receiver may not use does not arrive, and the call fails.",
     "selinux_domains fd_passing")
{
	struct client *manager = manager_new(), *server = server_without_files(manager);
	int fd = make_file(manager, "secret");
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;

	call(manager, 1, .objects = { OBJ_FD((uint32_t)fd) });
	expect_nothing(server);
	while (!peek(manager) && now_ms() < deadline)
		sleep_ms(1);
	if (peek(manager) && peek(manager)->cmd == BR_TRANSACTION_COMPLETE)
		expect(manager, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_FAILED_REPLY);
	round_trip(manager, 1, server);
}
