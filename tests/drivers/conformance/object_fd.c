// SPDX-License-Identifier: GPL-2.0
/* File descriptors in payloads: when they may be sent, what arrives, and when they are closed. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "expect.h"
#include "files.h"
#include "test.h"

/* A process whose object, handle 1 of the context manager, takes file descriptors. */
static struct client *accepting_server(struct client *manager)
{
	struct client *server = client_new();

	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	return server;
}

TEST(fd_arrives, "A file descriptor arrives as a new one of the same open file.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "hello");
	const struct returned *got;

	got = call_received(manager, 1, server, .objects = { OBJ_FD((uint32_t)fd) });
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_FD);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "hello");
}

TEST(fd_is_close_on_exec, "The new descriptor is close-on-exec.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "x");
	const struct returned *got;

	got = call_received(manager, 1, server, .objects = { OBJ_FD((uint32_t)fd) });
	EXPECT_EQ(file_flags(server, (int)object_at(got, 0)->fd.fd), FD_CLOEXEC);
}

TEST(fd_sender_keeps_its_own, "The sender may close its descriptor at once.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "still here");
	const struct returned *got;

	call(manager, 1, .objects = { OBJ_FD((uint32_t)fd) });
	expect_file(manager, fd, "still here");
	close_file(manager, fd);
	got = expect(server, BR_TRANSACTION);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "still here");
}

TEST(fd_survives_the_sender, "A descriptor arrives even if its sender has died.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "legacy");
	const struct returned *got;

	call(manager, 1, .flags = TF_ONE_WAY, .objects = { OBJ_FD((uint32_t)fd) });
	client_kill(manager);
	got = expect(server, BR_TRANSACTION);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "legacy");
}

TEST(fd_stays_after_free, "Freeing the buffer does not close a received descriptor.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "mine now");
	const struct returned *got;

	got = call_received(manager, 1, server, .objects = { OBJ_FD((uint32_t)fd) });
	answer(server, got);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "mine now");
}

TEST(fd_without_first_threads,
     "Descriptors pass between processes whose first threads have ended.", "fd_of_thread")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	struct client *sender = client_thread(manager), *receiver = client_thread(server);
	int fd = make_file(manager, "still here");
	const struct returned *got;

	client_end_thread(manager);
	client_end_thread(server);
	got = call_received(sender, 1, receiver, .objects = { OBJ_FD((uint32_t)fd) });
	expect_file(receiver, (int)object_at(got, 0)->fd.fd, "still here");
	client_kill(manager);
	client_kill(server);
}

TEST(fd_in_oneway, "A one-way call carries descriptors, too.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "oneway");
	const struct returned *got;

	call_oneway(manager, 1, .objects = { OBJ_FD((uint32_t)fd) });
	got = expect(server, BR_TRANSACTION);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "oneway");
}

TEST(fd_with_cookie, "The cookie of a descriptor object arrives as it was.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	union object object = OBJ_FD((uint32_t)make_file(manager, "x"));
	const struct returned *got;

	object.fd.cookie = 0x1122334455667788;
	got = call_received(manager, 1, server, .objects = { object });
	EXPECT_EQ(object_at(got, 0)->fd.cookie, 0x1122334455667788);
	EXPECT_EQ(object_at(got, 0)->fd.pad_flags, 0);
}

TEST(fd_same_twice, "The same descriptor twice becomes two.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	uint32_t fd = (uint32_t)make_file(manager, "twin");
	const struct returned *got;

	got = call_received(manager, 1, server, .objects = { OBJ_FD(fd), OBJ_FD(fd) });
	EXPECT(object_at(got, 0)->fd.fd != object_at(got, 1)->fd.fd);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "twin");
	expect_file(server, (int)object_at(got, 1)->fd.fd, "twin");
}

TEST(fd_many, "A payload may carry a hundred descriptors.", "kernel fd_passing")
{
	enum { NR = 100 };
	struct client *manager = manager_new(), *server = accepting_server(manager);
	uint32_t fd = (uint32_t)make_file(manager, "many");
	struct binder_fd_object objects[NR];
	binder_size_t offsets[NR];
	const struct returned *got;

	memset(objects, 0, sizeof(objects));
	for (int i = 0; i < NR; i++) {
		objects[i].hdr.type = BINDER_TYPE_FD;
		objects[i].fd = fd;
		offsets[i] = (binder_size_t)i * sizeof(objects[0]);
	}
	call(manager, 1, .data = objects, .size = sizeof(objects), .offsets = offsets,
	     .offsets_size = sizeof(offsets));
	got = expect(server, BR_TRANSACTION);
	expect_file(server, (int)object_at(got, 0)->fd.fd, "many");
	expect_file(server, (int)object_at(got, NR - 1)->fd.fd, "many");
}

TEST(fd_bad_is_refused, "A number that is no open descriptor is refused with EBADF.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);

	call_fails(manager, 1, .objects = { OBJ_FD(777) });
	EXPECT_EQ(extended_error(manager).param, -EBADF);
	expect_nothing(server);
	round_trip(manager, 1, server);
}

TEST(fd_node_that_does_not_accept,
     "A call with a descriptor to an object that does not accept them fails.")
{
	struct client *manager = manager_new(), *client = client_new();
	int fd = make_file(client, "no");

	call_fails(client, 0, .objects = { OBJ_FD((uint32_t)fd) });
	EXPECT_EQ(extended_error(client).param, -EPERM);
	expect_nothing(manager);
	expect_file(client, fd, "no");
}

TEST(fd_in_reply, "A caller that sets TF_ACCEPT_FDS gets a descriptor in a reply.", "fd_passing")
{
	struct client *manager = manager_new(), *client = client_new();
	int fd = make_file(manager, "answer");
	const struct returned *got;

	call_received(client, 0, manager, .flags = TF_ACCEPT_FDS);
	reply(manager, .objects = { OBJ_FD((uint32_t)fd) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	expect_file(client, (int)object_at(got, 0)->fd.fd, "answer");
}

TEST(fd_in_reply_unasked, "Without TF_ACCEPT_FDS a reply with a descriptor fails.")
{
	struct client *manager = manager_new(), *client = client_new();
	int fd = make_file(manager, "answer");

	call_received(client, 0, manager);
	reply(manager, .objects = { OBJ_FD((uint32_t)fd) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
	round_trip(client, 0, manager);
}

TEST(fd_mixed_with_others, "Descriptors travel beside other objects.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	uint32_t fd = (uint32_t)make_file(manager, "mixed");
	const struct returned *got;

	call(manager, 1, .data = "12345678", .size = 8,
	     .objects = { OBJ_FD(fd), OBJ_HANDLE(1), OBJ_FD(fd) });
	got = expect(server, BR_TRANSACTION);
	EXPECT(!memcmp(got->data, "12345678", 8));
	expect_file(server, (int)object_at(got, 0)->fd.fd, "mixed");
	EXPECT_EQ(object_at(got, 1)->hdr.type, BINDER_TYPE_BINDER);
	expect_file(server, (int)object_at(got, 2)->fd.fd, "mixed");
}

static void do_take_no_files(void *arg)
{
	const struct rlimit none = { 0, 0 };

	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
}

/* No more descriptors fit into the client's process. */
static void take_no_files(struct client *client)
{
	client_run(client, do_take_no_files, NULL);
}

TEST(fd_receiver_full,
     "When the receiver's descriptor table is full, the call fails at its caller and nothing "
     "arrives.", "kernel fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	uint32_t fd = (uint32_t)make_file(manager, "full");

	take_no_files(server);
	call(manager, 1, .objects = { OBJ_FD(fd) });
	expect_nothing(server);
	expect_sent(manager, BR_FAILED_REPLY);
	round_trip(manager, 1, server);
}

static void do_pipe(void *arg)
{
	int *ends = arg;

	EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
}

static void do_close_writer(void *arg)
{
	EXPECT_EQ(close(((int *)arg)[1]), 0);
}

/* ends[2]: what read(2) gives */
static void do_read_pipe(void *arg)
{
	int *ends = arg;
	char byte;

	ends[2] = (int)read(ends[0], &byte, 1);
	if (ends[2] < 0)
		ends[2] = -errno;
}

TEST(fd_undelivered_is_released, "An undelivered descriptor stays open until its receiver dies.",
     "kernel")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int *ends = shared_alloc(3 * sizeof(int));
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;

	client_run(manager, do_pipe, ends);
	call_oneway(manager, 1, .objects = { OBJ_FD((uint32_t)ends[1]) });
	client_run(manager, do_close_writer, ends);
	client_run(manager, do_read_pipe, ends);
	EXPECT_EQ(ends[2], -EAGAIN);
	client_kill(server);
	do {
		sleep_ms(2);
		client_run(manager, do_read_pipe, ends);
	} while (ends[2] == -EAGAIN && now_ms() < deadline);
	EXPECT_EQ(ends[2], 0);
}

TEST(fd_device_itself, "A descriptor of the binder device itself may be sent.", "kernel fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	const struct returned *got;

	got = call_received(manager, 1, server, .objects = { OBJ_FD((uint32_t)manager->port->fd) });
	EXPECT_EQ(file_flags(server, (int)object_at(got, 0)->fd.fd), FD_CLOEXEC);
	complete_call(server, got, manager);
	client_kill(server);
	round_trip(client_new(), 0, manager);
}

TEST(fd_oneway_receiver_full,
     "A one-way call whose files do not fit the receiver's descriptor table is lost; the next "
     "one arrives.", "kernel fd_passing")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	uint32_t fd = (uint32_t)make_file(manager, "full");

	take_no_files(server);
	call_oneway(manager, handle, .code = 1, .objects = { OBJ_FD(fd) });
	call_oneway(manager, handle, .code = 2);
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect(server, BR_TRANSACTION)->txn.code, 2);
	expect_nothing(manager);
}

TEST(fd_reply_receiver_full,
     "A reply whose files do not fit the caller's descriptor table fails there only.",
     "kernel fd_passing")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t fd = (uint32_t)make_file(manager, "full");

	take_no_files(client);
	call(client, 0, .flags = TF_ACCEPT_FDS);
	free_buffer(manager, expect(manager, BR_TRANSACTION));
	reply(manager, .objects = { OBJ_FD(fd) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
	expect_nothing(client);
	round_trip(client, 0, manager);
}

/* The process has a device open, as proc/PID of the reports shows. */
static bool is_known(pid_t pid)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/binder_logs/proc/%d", test_device_dir(), pid);
	return !access(path, F_OK);
}

/* The handle of the manager's handle 1 in a process that calls it. */
static uint32_t handle_of_first(struct client *client, struct client *manager)
{
	const struct returned *got = call_received(client, 0, manager);

	answer_with(manager, got, .objects = { OBJ_HANDLE(1) });
	return object_at(expect_sent(client, BR_REPLY), 0)->flat.handle;
}

TEST(fd_of_the_receiving_open,
     "An open that is sent to itself by another one, and is not read, ends with its process.",
     "fd_passing binderfs self_sent_file")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	struct client *again = client_again(server);
	pid_t pid = actor_pid(server->by);
	uint32_t handle = handle_of_first(again, manager);

	call_oneway(again, handle, .objects = { OBJ_FD((uint32_t)server->port->fd) });
	EXPECT(is_known(pid));
	client_kill(server);
	while (is_known(pid))
		sleep_ms(2);
}

TEST(fd_of_opens_in_each_other,
     "Two opens that are sent to each other, and are not read, end with their process.",
     "fd_passing binderfs sent_files_in_circles")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	struct client *again = client_again(server);
	pid_t pid = actor_pid(server->by);
	const struct returned *got;
	uint32_t handle;

	give(again, manager, 0x30, 0x40, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	handle = handle_of_first(again, manager);
	got = call_received(server, 0, manager);
	answer_with(manager, got, .objects = { OBJ_HANDLE(2) });
	got = expect_sent(server, BR_REPLY);
	call_oneway(server, object_at(got, 0)->flat.handle,
		    .objects = { OBJ_FD((uint32_t)server->port->fd) });
	call_oneway(again, handle, .objects = { OBJ_FD((uint32_t)again->port->fd) });
	expect(server, BR_TRANSACTION_COMPLETE);
	expect(again, BR_TRANSACTION_COMPLETE);
	client_kill(server);
	while (is_known(pid))
		sleep_ms(2);
}

struct ends {
	int fd[2];
};

static void make_pipe(void *arg)
{
	EXPECT_EQ(pipe(((struct ends *)arg)->fd), 0);
}

static void await_end(void *arg)
{
	struct pollfd file = { .fd = ((struct ends *)arg)->fd[0] };

	EXPECT_EQ(poll(&file, 1, STEP_TIMEOUT_MS / 2), 1);
	EXPECT(file.revents & POLLHUP);
}

TEST(fd_of_a_replaced_call, "The files of a one-way call that TF_UPDATE_TXN replaces are closed.",
     "kernel fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	struct ends *ends = shared_alloc(sizeof(*ends));

	client_run(manager, make_pipe, ends);
	EXPECT_OK(freeze(manager, server, true, 0));
	call_oneway(manager, 1); /* only what waits behind another is replaced */
	call(manager, 1, .flags = TF_ONE_WAY | TF_UPDATE_TXN, .objects = { OBJ_FD(ends->fd[1]) });
	close_file(manager, ends->fd[1]);
	call(manager, 1, .flags = TF_ONE_WAY | TF_UPDATE_TXN);
	client_run(manager, await_end, ends);
}
