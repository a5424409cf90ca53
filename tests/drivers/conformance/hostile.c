// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile clients: streams of garbage, addresses and identities of others. No other process is
 * harmed, and the device goes on working.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/common/abi_list.h"
#include "expect.h"
#include "test.h"

/* xorshift: the same garbage on every run */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Frees the calls that the garbage has made by accident. */
static void take_calls(struct client *manager)
{
	while (peek(manager)) {
		if (manager->queue[manager->head % QUEUE_LENGTH].cmd == BR_TRANSACTION)
			put_free(manager, &manager->queue[manager->head % QUEUE_LENGTH]);
		manager->head++;
	}
}

TEST(hostile_random_bytes, "Random bytes as commands are refused or ignored.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint64_t state = 0x9e3779b97f4a7c15;

	for (int round = 0; round < 200; round++) {
		uint64_t words[32];

		for (int i = 0; i < 32; i++)
			words[i] = next_random(&state);
		put_bytes(client, words, sizeof(words));
		try_flush(client);
		read_once(client, READ_SIZE);
		client->head = client->tail;
	}
	round_trip(client_new(), 0, manager);
}

#define NUMBER(code) (uint32_t)(code),

TEST(hostile_random_arguments, "Known commands with random arguments are refused or ignored.")
{
	static const uint32_t commands[] = { BINDER_COMMANDS(NUMBER) };
	struct client *manager = manager_new(), *client = client_new();
	uint64_t state = 0x2545f4914f6cdd1d;

	for (int round = 0; round < 400; round++) {
		uint32_t cmd = commands[next_random(&state) %
					(sizeof(commands) / sizeof(commands[0]))];
		uint64_t words[10];

		for (int i = 0; i < 10; i++)
			words[i] = next_random(&state) >> (next_random(&state) & 63);
		put_cmd(client, cmd);
		put_bytes(client, words, _IOC_SIZE(cmd));
		try_flush(client);
		read_once(client, READ_SIZE);
		client->head = client->tail;
	}
	client_kill(client);
	take_calls(manager);
	round_trip(client_new(), 0, manager);
}

TEST(hostile_garbage_objects, "Payloads of random objects at random offsets do no harm.")
{
	static const uint32_t types[] = { BINDER_TYPE_BINDER, BINDER_TYPE_WEAK_BINDER,
					  BINDER_TYPE_HANDLE, BINDER_TYPE_WEAK_HANDLE,
					  BINDER_TYPE_FD, BINDER_TYPE_FDA, BINDER_TYPE_PTR };
	struct client *manager = manager_new(), *client = client_new();
	uint64_t state = 0xda942042e4dd58b5;

	for (int round = 0; round < 200; round++) {
		uint32_t data[64];
		binder_size_t offsets[4], at = 0;

		for (int i = 0; i < 64; i++)
			data[i] = next_random(&state) & 3 ?
					  (uint32_t)(next_random(&state) & 63) :
					  types[next_random(&state) % 7];
		for (int i = 0; i < 4; i++) {
			at += next_random(&state) & 60;
			offsets[i] = at;
			if (at / 4 < 64)
				data[at / 4] = types[next_random(&state) % 7];
		}
		put_txn(client, (struct txn){ .flags = TF_ONE_WAY, .data = data,
					      .size = sizeof(data), .offsets = offsets,
					      .offsets_size = sizeof(offsets), .sg = true,
					      .buffers_size = 64 });
		try_flush(client);
		read_once(client, READ_SIZE);
		client->head = client->tail;
	}
	client_kill(client);
	take_calls(manager);
	round_trip(client_new(), 0, manager);
}

TEST(hostile_sender_fields_are_ignored,
     "The driver sets the sender's pid and euid; what the sender wrote there is overwritten.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct binder_transaction_data forged = {
		.code = 5,
		.flags = TF_ONE_WAY,
		.sender_pid = 1,
		.sender_euid = 0xdeadbeef,
		.cookie = 0x1234,
	};
	const struct returned *got;

	commands_put_call(&client->out, &forged);
	flush(client);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.sender_pid, 0);
	EXPECT_EQ(got->txn.sender_euid, geteuid());
	EXPECT_EQ(got->txn.cookie, 0);
	free_buffer(manager, got);
	forged.flags = 0;
	commands_put_call(&client->out, &forged);
	flush(client);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.sender_pid, actor_pid(client->by));
}

static void do_drop_user(void *arg)
{
	EXPECT_EQ(setresuid(*(uid_t *)arg, *(uid_t *)arg, *(uid_t *)arg), 0);
}

TEST(hostile_euid_of_the_moment,
     "sender_euid is the effective user id that the sending thread has when it sends.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	if (geteuid())
		test_skip("needs root");
	client_set_euid(client, 12345);
	call_oneway(client, 0, .code = 1);
	client_set_euid(client, 0);
	call_oneway(client, 0, .code = 2);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.sender_euid, 12345);
	free_buffer(manager, got);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.sender_euid, 0);
}

TEST(hostile_dropped_privileges,
     "The sender_euid of a process that dropped its privileges is the new user id.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	uid_t user = 54321;
	const struct returned *got;

	if (geteuid())
		test_skip("needs root");
	client_run(client, do_drop_user, shared_copy(&user, sizeof(user)));
	got = call_received(client, 0, manager, .code = 1);
	EXPECT_EQ(got->txn.sender_euid, 54321);
	complete_call(manager, got, client);
}

/* A page that only the client has, with no memory after it. */
static void do_map_private(void *arg)
{
	void **at = arg;

	*at = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	EXPECT(*at != MAP_FAILED);
	EXPECT_EQ(munmap((char *)*at + page_size(), page_size()), 0);
	memset(*at, 0x77, page_size());
}

static void do_protect(void *arg)
{
	EXPECT_EQ(mprotect(*(void **)arg, page_size(), PROT_NONE), 0);
}

TEST(hostile_addresses_are_the_callers_own,
     "An address in a command is looked up in the memory of its caller only.")
{
	struct client *manager = manager_new(), *client = client_new(), *other = client_new();
	void **at = shared_alloc(sizeof(*at));

	client_run(client, do_map_private, at);
	call(client, 0, .size = 4096, .buffer = (uintptr_t)*at);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->data[4095], 0x77);
	call_fails(other, 0, .size = 4096, .buffer = (uintptr_t)*at + (1ull << 40));
	expect_nothing(manager);
}

TEST(hostile_unreadable_payload, "A payload that the sender itself may not read is refused.")
{
	struct client *manager = manager_new(), *client = client_new();
	void **at = shared_alloc(sizeof(*at));

	client_run(client, do_map_private, at);
	client_run(client, do_protect, at);
	call_fails(client, 0, .size = 4096, .buffer = (uintptr_t)*at);
	EXPECT_EQ(extended_error(client).param, -EFAULT);
	expect_nothing(manager);
}

TEST(hostile_kernel_addresses, "Addresses beyond user space are refused everywhere.")
{
	static const uint64_t bad[] = { 0xffff800000000000, 0xffffffff81000000, 0x7ffffffff000,
					0x800000000000 };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct binder_write_read bwr = { .write_size = 64, .write_buffer = bad[i] };

		EXPECT_ERR(write_read(client, &bwr), EFAULT);
		call_fails(client, 0, .size = 64, .buffer = bad[i]);
	}
	round_trip(client, 0, manager);
}

TEST(hostile_payload_crosses_the_end,
     "A payload that ends in unmapped memory is refused as a whole.")
{
	struct client *manager = manager_new(), *client = client_new();
	void **at = shared_alloc(sizeof(*at));

	client_run(client, do_map_private, at);
	call_fails(client, 0, .size = 200, .buffer = (uintptr_t)*at + page_size() - 100);
	expect_nothing(manager);
	round_trip(client, 0, manager);
}

TEST(hostile_own_map_as_source, "A received payload may be sent on directly from the mapping.")
{
	struct client *manager = manager_new(), *client = client_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	const struct returned *got;

	got = call_received(client, 0, manager, .data = "pass it on", .size = 11);
	call(manager, handle, .size = 11, .buffer = got->txn.data.ptr.buffer);
	got = expect(server, BR_TRANSACTION);
	EXPECT(!memcmp(got->data, "pass it on", 11));
}

TEST(hostile_read_into_the_map, "Returns cannot be read into the buffer mapping.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct binder_write_read bwr = { .read_size = 4096 };

	bwr.read_buffer = (uintptr_t)manager->port->map;
	call(client, 0, .code = 3);
	EXPECT_ERR(write_read(manager, &bwr), EFAULT);
}

TEST(hostile_free_what_a_reply_will_bring,
     "Addresses of future buffers cannot be freed in advance.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint64_t first;

	answer(manager, call_received(client, 0, manager));
	got = expect_sent(client, BR_REPLY);
	first = got->txn.data.ptr.buffer;
	free_buffer(client, got);
	for (int i = 0; i < 3; i++) {
		got = call_received(client, 0, manager);
		put_free(manager, got);
		put_reply(manager, (struct txn){ .data = "kept", .size = 5 });
		flush(manager);
		expect(manager, BR_TRANSACTION_COMPLETE);
		send_u64(client, BC_FREE_BUFFER, first);
		got = expect_sent(client, BR_REPLY);
		EXPECT_EQ(got->txn.data.ptr.buffer, first);
		EXPECT(!memcmp(got->data, "kept", 5));
		free_buffer(client, got);
	}
}

TEST(hostile_flood_of_objects,
     "A process may create thousands of nodes without delaying other processes.")
{
	enum { BATCH = 200, ROUNDS = 20 };
	struct client *manager = manager_new(), *client = client_new();
	struct flat_binder_object objects[BATCH];
	binder_size_t offsets[BATCH];

	memset(objects, 0, sizeof(objects));
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < BATCH; i++) {
			objects[i].hdr.type = BINDER_TYPE_WEAK_BINDER;
			objects[i].binder = 0x1000 + round * BATCH + i;
			offsets[i] = i * sizeof(objects[0]);
		}
		call_oneway(client, 0, .data = objects, .size = sizeof(objects),
			    .offsets = offsets, .offsets_size = sizeof(offsets));
	}
	client_kill(client);
	for (unsigned int round = 0; round < ROUNDS; round++)
		free_buffer(manager, expect(manager, BR_TRANSACTION));
	round_trip(client_new(), 0, manager);
}
