// SPDX-License-Identifier: GPL-2.0
/* The receiver's space: what a buffer occupies, when it is released, and what may be freed. */
#include <string.h>

#include "expect.h"
#include "test.h"

#define SMALL_MAP (64 * 1024)

static struct client *small_manager(void)
{
	return manager_open((struct client_options){ .map_size = SMALL_MAP });
}

/* Short texts in buffers of 64 bytes. */
static const char still_here[64] = "still here", secret[64] = "secret";

TEST(buffer_space_runs_out,
     "When the receiver's space is used up a call fails; after a free it fits again.")
{
	struct client *manager = small_manager(), *one = client_new(), *two = client_new();
	const struct returned *got = call_received(one, 0, manager, .size = 40 * 1024);

	call_fails(two, 0, .size = 40 * 1024);
	answer(manager, got);
	call_received(two, 0, manager, .size = 40 * 1024);
}

TEST(buffer_reply_keeps_it, "A reply does not free the call's buffer; only BC_FREE_BUFFER does.")
{
	struct client *manager = small_manager(), *client = client_new();
	const struct returned *got = call_received(client, 0, manager, .size = 40 * 1024);

	reply(manager);
	expect(manager, BR_TRANSACTION_COMPLETE);
	finish_call(client);
	call_fails(client, 0, .size = 40 * 1024);
	free_buffer(manager, got);
	call_received(client, 0, manager, .size = 40 * 1024);
}

TEST(buffer_failed_call_leaves_no_trace,
     "A call that fails half-way releases the space it had taken.")
{
	struct client *manager = small_manager(), *client = client_new();

	for (int i = 0; i < 20; i++) {
		call_fails(client, 0, .size = 40 * 1024, .objects = { OBJ_HANDLE(99) });
	}
	call_received(client, 0, manager, .size = 40 * 1024);
}

TEST(buffer_undelivered_is_given_back,
     "A dead caller's unread call still occupies space until it is read and freed.")
{
	struct client *manager = small_manager(), *client = client_new(), *other = client_new();

	call(client, 0, .size = 40 * 1024);
	client_kill_and_wait(client);
	call_fails(other, 0, .size = 40 * 1024);
	answer(manager, expect(manager, BR_TRANSACTION));
	call_received(other, 0, manager, .size = 40 * 1024);
}

TEST(buffer_free_of_unknown_address, "Freeing an address that is no buffer is ignored.")
{
	struct client *manager = manager_new(), *client = client_new();

	put_u64(client, BC_FREE_BUFFER, 0x1234);
	put_u64(client, BC_FREE_BUFFER, 0);
	send_u64(client, BC_FREE_BUFFER, (uintptr_t)client->port->map);
	round_trip(client, 0, manager);
}

TEST(buffer_double_free, "Freeing a buffer twice is ignored, and frees no other buffer.")
{
	struct client *manager = small_manager(), *client = client_new();
	const struct returned *got = call_received(client, 0, manager, .size = 64);

	free_buffer(manager, got);
	free_buffer(manager, got);
	reply(manager);
	expect(manager, BR_TRANSACTION_COMPLETE);
	finish_call(client);
	round_trip(client, 0, manager);
}

TEST(buffer_free_of_undelivered, "A buffer that has not been delivered cannot be freed.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint64_t at;

	got = call_received(client, 0, manager, .code = 1, .size = 64);
	at = got->txn.data.ptr.buffer;
	complete_call(manager, got, client);
	call(client, 0, .code = 2, .size = sizeof(still_here), .data = still_here);
	send_u64(manager, BC_FREE_BUFFER, at);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, 2);
	EXPECT_EQ(got->txn.data.ptr.buffer, at);
	complete_call(manager, got, client);
}

TEST(buffer_foreign_free, "A process cannot free a buffer of another process.")
{
	struct client *manager = small_manager(), *client = client_new(), *other = client_new();
	const struct returned *got = call_received(client, 0, manager, .size = 40 * 1024);

	send_u64(client, BC_FREE_BUFFER, got->txn.data.ptr.buffer);
	call_fails(other, 0, .size = 40 * 1024);
}

TEST(buffer_is_aligned_to_eight, "Buffers begin at multiples of eight.")
{
	struct client *manager = manager_new(), *client = client_new();

	for (size_t size = 0; size < 20; size++) {
		const struct returned *got;

		call_oneway(client, 0, .size = size);
		got = expect(manager, BR_TRANSACTION);
		EXPECT_EQ(got->txn.data.ptr.buffer % 8, 0);
		free_buffer(manager, got);
	}
}

TEST(buffer_many_small_ones,
     "Calls by many threads fill the space with small buffers side by side.")
{
	struct client *manager = manager_new();
	uint64_t at[10], low = UINT64_MAX, high = 0;

	for (int i = 0; i < 10; i++) {
		struct client *client = client_new();

		call(client, 0, .size = 100);
		at[i] = expect(client_thread(manager), BR_TRANSACTION)->txn.data.ptr.buffer;
		for (int j = 0; j < i; j++)
			EXPECT(at[i] >= at[j] + 104 || at[j] >= at[i] + 104);
		low = at[i] < low ? at[i] : low;
		high = at[i] > high ? at[i] : high;
	}
	EXPECT(high - low < 4096);
}

TEST(buffer_neighbours_merge, "Freed neighbours become one free space again.")
{
	struct client *manager = small_manager();
	struct client *clients[4], *threads[4];
	const struct returned *got[4];
	static const int order[4] = { 1, 3, 0, 2 };

	for (int i = 0; i < 4; i++) {
		clients[i] = client_new();
		threads[i] = client_thread(manager);
		call(clients[i], 0, .size = 15 * 1024);
		got[i] = expect(threads[i], BR_TRANSACTION);
	}
	for (int i = 0; i < 4; i++)
		free_buffer(manager, got[order[i]]);
	for (int i = 0; i < 4; i++) {
		reply(threads[i]);
		finish_call(clients[i]);
	}
	call(clients[0], 0, .size = 63 * 1024);
	expect(manager, BR_TRANSACTION);
}

TEST(buffer_clear_on_free, "A buffer of a call with TF_CLEAR_BUF is zeroed when it is freed.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got, *neighbour;
	const uint8_t *bytes;

	call(client_new(), 0, .data = "neighbour", .size = 10);
	neighbour = expect(client_thread(manager), BR_TRANSACTION);
	call(client, 0, .flags = TF_CLEAR_BUF, .data = secret, .size = sizeof(secret));
	got = expect(manager, BR_TRANSACTION);
	EXPECT(!strcmp((char *)got->data, "secret"));
	free_buffer(manager, got);
	bytes = read_memory(manager, got->txn.data.ptr.buffer, 64);
	for (size_t i = 0; i < 64; i++)
		EXPECT_EQ(bytes[i], 0);
	EXPECT(!strcmp(read_memory(manager, neighbour->txn.data.ptr.buffer, 10), "neighbour"));
}

TEST(buffer_clear_of_reply, "TF_CLEAR_BUF of a reply clears the caller's buffer on free.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	const uint8_t *bytes;

	round_trip(client, 0, manager);
	put_free(manager, call_received(client, 0, manager));
	reply(manager, .flags = TF_CLEAR_BUF, .data = secret, .size = sizeof(secret));
	got = expect_sent(client, BR_REPLY);
	free_buffer(client, got);
	bytes = read_memory(client, got->txn.data.ptr.buffer, 64);
	for (size_t i = 0; i < 64; i++)
		EXPECT_EQ(bytes[i], 0);
}

TEST(buffer_address_lies_in_the_map, "A buffer and its offsets lie inside the receiver's mapping.")
{
	struct client *manager = manager_new(), *client = client_new();

	for (size_t size = 1; size <= 512 * 1024; size *= 8) {
		const struct returned *got;

		got = call_received(client, 0, manager, .size = size);
		EXPECT(got->data);
		complete_call(manager, got, client);
	}
}

TEST(buffer_large_payload_arrives_whole, "Every byte of a payload of many pages arrives.")
{
	struct client *manager = manager_new(), *client = client_new();
	size_t size = 900 * 1024 + 13;
	uint8_t *bytes = shared_alloc(size);
	const struct returned *got;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 4096);
	got = call_received(client, 0, manager, .data = bytes, .size = size);
	EXPECT_EQ(got->txn.data_size, size);
	EXPECT(!memcmp(got->data, bytes, size));
	complete_call(manager, got, client);
	round_trip(client, 0, manager);
}

TEST(buffer_free_outside_the_map, "Freeing an address outside the mapping is ignored.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint64_t base = (uintptr_t)manager->port->map;
	const uint64_t odd[] = { 0, 1, 8, base - 8, base - 1, base + MAP_SIZE,
				 base + MAP_SIZE + 8, ~0ull, 1ull << 63 };
	const struct returned *got = call_received(client, 0, manager);

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		send_u64(manager, BC_FREE_BUFFER, odd[i]);
	}
	expect_nothing(manager);
	complete_call(manager, got, client);
}
