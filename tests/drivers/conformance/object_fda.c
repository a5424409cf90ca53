// SPDX-License-Identifier: GPL-2.0
/*
 * Arrays of descriptors (BINDER_TYPE_FDA): numbers in a buffer that is sent along, as HIDL's
 * native_handle is. Unlike single descriptors they belong to the buffer and are closed with it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"
#include "files.h"
#include "test.h"

/* A process whose object, handle 1 of the context manager, takes descriptors. */
static struct client *accepting_server(struct client *manager)
{
	struct client *server = client_new();

	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	return server;
}

/* A buffer as of a native_handle: three words of header, then the descriptors; 32 bytes. */
static void *fd_buffer(int first, int second)
{
	uint32_t words[8] = { 12, 2, 0, (uint32_t)first, (uint32_t)second, 7, 8, 9 };

	return shared_copy(words, sizeof(words));
}

static void expect_refused(struct client *client, struct client *server, int err)
{
	expect(client, BR_FAILED_REPLY);
	expect_nothing(server);
	EXPECT_EQ(extended_error(client).param, -err);
	round_trip(client, 1, server);
}

#define HEADER .sg = true, .data = "a header", .size = 8

TEST(fda_arrives, "The numbers in the parent are replaced by the receiver's.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int first = make_file(manager, "first"), second = make_file(manager, "second");
	const struct returned *got;
	uint32_t *words;

	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(first, second), 32), OBJ_FDA(2, 0, 12) });
	got = expect(server, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 1)->fda.num_fds, 2);
	words = read_memory(server, object_at(got, 0)->ptr.buffer, 32);
	EXPECT_EQ(words[0], 12);
	EXPECT_EQ(words[2], 0);
	EXPECT_EQ(words[5], 7);
	expect_file(server, (int)words[3], "first");
	expect_file(server, (int)words[4], "second");
}

TEST(fda_is_closed_with_the_buffer, "Freeing the buffer closes the descriptors of its arrays.",
     "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "gone");
	const struct returned *got;
	uint32_t *words;

	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(2, 0, 12) });
	got = expect(server, BR_TRANSACTION);
	words = read_memory(server, object_at(got, 0)->ptr.buffer, 32);
	expect_file(server, (int)words[3], "gone");
	answer(server, got);
	expect_closed(server, (int)words[3]);
	expect_closed(server, (int)words[4]);
	finish_call(manager);
	expect_file(manager, fd, "gone");
	round_trip(manager, 1, server);
}

struct move {
	int from, to;
	void *map;
	size_t map_size;
};

/* Leaves @to as the only reference to the file of @from. */
static void do_move(void *arg)
{
	struct move *move = arg;

	EXPECT_EQ(dup3(move->from, move->to, O_CLOEXEC), move->to);
	EXPECT_EQ(close(move->from), 0);
	EXPECT_EQ(munmap(move->map, move->map_size), 0);
}

TEST(fda_closes_the_device, "Freeing a buffer may close the device that the ioctl is made on.",
     "kernel fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "replaced");
	struct move move = { .from = server->port->fd, .map = server->port->map,
			     .map_size = server->port->map_bytes };
	const struct returned *got;

	call(manager, 1, HEADER, .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(1, 0, 12) });
	got = expect(server, BR_TRANSACTION);
	move.to = (int)((uint32_t *)read_memory(server, object_at(got, 0)->ptr.buffer, 32))[3];
	client_run(server, do_move, shared_copy(&move, sizeof(move)));
	server->port->fd = move.to;
	free_buffer(server, got);
	expect_closed(server, move.to);
	expect_sent(manager, BR_DEAD_REPLY);
}

TEST(fda_in_reply, "A caller that accepts descriptors gets an array of them in a reply.",
     "fd_passing")
{
	struct client *manager = manager_new(), *client = client_new();
	int fd = make_file(manager, "reply");
	const struct returned *got;
	uint32_t *words;

	call_received(client, 0, manager, .flags = TF_ACCEPT_FDS);
	reply(manager, HEADER, .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(1, 0, 16) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	words = read_memory(client, object_at(got, 0)->ptr.buffer, 32);
	expect_file(client, (int)words[4], "reply");
	free_buffer(client, got);
	expect_closed(client, (int)words[4]);
}

TEST(fda_two_arrays, "One buffer may hold two arrays.", "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int first = make_file(manager, "a"), second = make_file(manager, "b");
	const struct returned *got;
	uint32_t *words;

	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(first, second), 32), OBJ_FDA(1, 0, 12),
			  OBJ_FDA(1, 0, 16) });
	got = expect(server, BR_TRANSACTION);
	words = read_memory(server, object_at(got, 0)->ptr.buffer, 32);
	expect_file(server, (int)words[3], "a");
	expect_file(server, (int)words[4], "b");
}

TEST(fda_empty, "An empty array is allowed, also at the end of its buffer.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);

	for (binder_size_t at = 12; at <= 32; at += 20) {
		call(manager, 1, HEADER,
		     .objects = { OBJ_PTR(fd_buffer(0, 0), 32), OBJ_FDA(0, 0, at) });
		complete_call(server, expect(server, BR_TRANSACTION), manager);
	}
}

TEST(fda_bad_descriptor, "An array with a number that is no open descriptor is refused with EBADF.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "x");

	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, 777), 32), OBJ_FDA(2, 0, 12) });
	expect_refused(manager, server, EBADF);
}

TEST(fda_unaligned, "An array that does not begin at a multiple of four is refused.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "x");

	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(1, 0, 13) });
	expect_refused(manager, server, EINVAL);
}

TEST(fda_unreadable, "An array in a buffer at an unmapped address is refused with EINVAL.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);

	call(manager, 1, HEADER, .objects = { OBJ_PTR(0x1000, 32), OBJ_FDA(2, 0, 12) });
	expect_refused(manager, server, EINVAL);
}

TEST(fda_outside_its_parent, "An array that does not lie in its parent is refused.")
{
	static const uint64_t bad[][2] = { { 2, 28 }, { 1, 32 }, { 6, 12 }, { 1, 1ull << 40 },
					   { 1ull << 40, 12 }, { 1ull << 62, 12 },
					   { ~0ull, 12 }, { 1, ~3ull } };
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "x");

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		call(manager, 1, HEADER,
		     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32),
				  OBJ_FDA(bad[i][0], 0, bad[i][1]) });
		expect_refused(manager, server, EINVAL);
	}
}

TEST(fda_parent_not_a_buffer, "An array's parent must be a buffer before it.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "x");

	call(manager, 1, HEADER, .objects = { OBJ_HANDLE(1), OBJ_FDA(1, 0, 12) });
	expect_refused(manager, server, EINVAL);
	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(1, 1, 12) });
	expect_refused(manager, server, EINVAL);
	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(1, 2, 12),
			  OBJ_PTR(fd_buffer(fd, fd), 32) });
	expect_refused(manager, server, EINVAL);
	call(manager, 1, HEADER, .objects = { OBJ_FDA(0, 0, 0) });
	expect_refused(manager, server, EINVAL);
}

TEST(fda_not_accepted, "A call with an array to an object that does not accept descriptors fails.")
{
	struct client *manager = manager_new(), *client = client_new();
	int fd = make_file(client, "x");

	call(client, 0, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(1, 0, 12) });
	expect(client, BR_FAILED_REPLY);
	EXPECT_EQ(extended_error(client).param, -EPERM);
	expect_nothing(manager);
}

TEST(fda_dies_with_its_receiver_unread, "A receiver may die with an unread array.")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "x");

	call(manager, 1, HEADER,
	     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(2, 0, 12) });
	client_kill(server);
	expect_sent(manager, BR_DEAD_REPLY);
	expect_file(manager, fd, "x");
}

TEST(fda_below_a_pointer, "An array may not begin below a pointer that was set in its parent.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	int fd = make_file(manager, "x");
	const uint32_t words[8] = { 12, 2, 0, (uint32_t)fd, (uint32_t)fd };
	void *parent = shared_copy(words, sizeof(words));
	void *child = shared_copy("child", 6);

	call(manager, handle, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(parent, 32),
			  OBJ_CHILD(child, 6, 0, 24),
			  OBJ_FDA(2, 0, 12) });
	expect(manager, BR_FAILED_REPLY);
	expect_nothing(server);
	round_trip(manager, handle, server);
}

TEST(fda_of_a_replaced_call, "A one-way call is replaced, and the files of its array stay open.",
     "fd_passing")
{
	struct client *manager = manager_new(), *server = accepting_server(manager);
	int fd = make_file(manager, "kept");
	const struct returned *got;

	EXPECT_OK(freeze(manager, server, true, 0));
	call_oneway(manager, 1); /* only what waits behind another is replaced */
	for (int i = 0; i < 2; i++)
		call(manager, 1, HEADER, .flags = TF_ONE_WAY | TF_UPDATE_TXN,
		     .objects = { OBJ_PTR(fd_buffer(fd, fd), 32), OBJ_FDA(2, 0, 12) });
	expect_file(manager, fd, "kept");
	EXPECT_OK(freeze(manager, server, false, 0));
	free_buffer(server, expect(server, BR_TRANSACTION));
	got = expect(server, BR_TRANSACTION);
	expect_file(server, *(int *)read_memory(server, object_at(got, 0)->ptr.buffer + 12, 4),
		    "kept");
	expect_nothing(server);
}
