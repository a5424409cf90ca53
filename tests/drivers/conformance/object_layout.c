// SPDX-License-Identifier: GPL-2.0
/* Where objects may be in a payload, and what the list of offsets must look like. */
#include <string.h>

#include "expect.h"
#include "test.h"

/* Three consecutive objects, from which the tests build payloads. */
static struct flat_binder_object three[3] = {
	{ .hdr = { BINDER_TYPE_BINDER }, .binder = 0x10, .cookie = 0x20 },
	{ .hdr = { BINDER_TYPE_BINDER }, .binder = 0x30, .cookie = 0x40 },
	{ .hdr = { BINDER_TYPE_BINDER }, .binder = 0x50, .cookie = 0x60 },
};

static void expect_refused(struct client *client, struct client *server, int err)
{
	expect_only(client, BR_FAILED_REPLY);
	expect_nothing(server);
	EXPECT_EQ(extended_error(client).param, -err);
	round_trip(client, 0, server);
}

TEST(layout_offsets_unaligned, "An offset that is not a multiple of four is refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	for (binder_size_t offset = 1; offset < 4; offset++) {
		call(client, 0, .data = three, .size = 64, .offsets = &offset, .offsets_size = 8);
		expect_refused(client, manager, EINVAL);
	}
}

TEST(layout_offsets_aligned_to_four,
     "An offset that is a multiple of four but not of eight is accepted.")
{
	struct client *manager = manager_new(), *client = client_new();
	binder_size_t offset = 4;
	uint8_t data[32] = { 0xaa, 0xbb };
	const struct returned *got;

	memcpy(data + 4, three, sizeof(three[0]));
	call(client, 0, .data = data, .size = sizeof(data), .offsets = &offset, .offsets_size = 8);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->data[0], 0xaa);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
}

TEST(layout_offsets_outside, "An object offset out of bounds is refused.")
{
	static const binder_size_t bad[] = { 76, 1 << 20, 1ull << 32, ~7ull, 1ull << 63 };
	struct client *manager = manager_new(), *client = client_new();
	binder_size_t end = sizeof(three);

	call(client, 0, .data = three, .size = sizeof(three), .offsets = &end, .offsets_size = 8);
	expect_refused(client, manager, EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		call(client, 0, .data = three, .size = sizeof(three), .offsets = &bad[i],
		     .offsets_size = 8);
		expect_refused(client, manager, EFAULT);
	}
}

TEST(layout_object_partly_outside, "An object that reaches beyond the end of the data is refused.")
{
	struct client *manager = manager_new(), *client = client_new();
	binder_size_t offset = 24;

	for (size_t size = 28; size < 48; size += 4) {
		call(client, 0, .data = three, .size = size, .offsets = &offset, .offsets_size = 8);
		expect_refused(client, manager, EINVAL);
	}
	call(client, 0, .data = three, .size = 48, .offsets = &offset, .offsets_size = 8);
	answer(manager, expect(manager, BR_TRANSACTION));
}

TEST(layout_offsets_overlap, "Objects that overlap are refused.")
{
	static const binder_size_t offsets[][2] = { { 0, 0 }, { 0, 4 }, { 0, 8 }, { 0, 20 } };
	struct client *manager = manager_new(), *client = client_new();
	uint32_t words[24];

	/* Every word could begin an object. */
	for (int i = 0; i < 24; i++)
		words[i] = BINDER_TYPE_BINDER;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		call(client, 0, .data = words, .size = sizeof(words), .offsets = offsets[i],
		     .offsets_size = 16);
		expect_refused(client, manager, EFAULT);
	}
}

TEST(layout_offsets_unordered, "Object offsets out of order are refused.")
{
	static const binder_size_t offsets[] = { 24, 0 };
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .data = three, .size = sizeof(three), .offsets = offsets,
	     .offsets_size = sizeof(offsets));
	expect_refused(client, manager, EFAULT);
}

TEST(layout_offsets_size_odd, "An offsets_size that is not a multiple of eight is refused.")
{
	static const binder_size_t offsets[] = { 0, 24 };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t size = 1; size < 16; size += size == 7 ? 2 : 1) {
		call(client, 0, .data = three, .size = sizeof(three), .offsets = offsets,
		     .offsets_size = size);
		expect_refused(client, manager, EINVAL);
	}
}

TEST(layout_gaps_arrive_unchanged, "Data between objects arrives unchanged.")
{
	static const binder_size_t offsets[] = { 8, 40 };
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint8_t data[72];

	memset(data, 0x5a, sizeof(data));
	memcpy(data + 8, &three[0], sizeof(three[0]));
	memcpy(data + 40, &three[1], sizeof(three[1]));
	call(client, 0, .data = data, .size = sizeof(data), .offsets = offsets,
	     .offsets_size = sizeof(offsets));
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.data_size, sizeof(data));
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(got->data[i], 0x5a);
		EXPECT_EQ(got->data[32 + i], 0x5a);
		EXPECT_EQ(got->data[64 + i], 0x5a);
	}
	EXPECT_EQ(object_at(got, 1)->flat.handle, 2);
}

TEST(layout_unlisted_object_is_data, "An object without an offset is plain data.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	got = call_received(client, 0, manager, .data = three, .size = sizeof(three));
	EXPECT_EQ(got->txn.offsets_size, 0);
	EXPECT(!memcmp(got->data, three, sizeof(three)));
	call_fails(manager, 1);
}

TEST(layout_offsets_without_data, "Offsets without data are refused.")
{
	struct client *manager = manager_new(), *client = client_new();
	binder_size_t offset = 0;

	call(client, 0, .offsets = &offset, .offsets_size = 8);
	expect_refused(client, manager, EINVAL);
}

TEST(layout_offsets_unreadable, "Offsets at an unmapped address are refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .data = three, .size = sizeof(three), .offsets_size = 8,
	     .offsets_at = 0x1000);
	expect(client, BR_FAILED_REPLY);
	expect_nothing(manager);
	EXPECT_EQ(extended_error(client).param, -EFAULT);
	round_trip(client, 0, manager);
}

TEST(layout_bad_in_reply,
     "A bad object in a reply fails the caller; the server only gets its completion.")
{
	struct client *manager = manager_new(), *client = client_new();
	binder_size_t offset = 2;

	call_received(client, 0, manager);
	reply(manager, .data = three, .size = sizeof(three), .offsets = &offset, .offsets_size = 8);
	expect_only(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
	expect_nothing(client);
	round_trip(client, 0, manager);
}

TEST(layout_bad_in_oneway, "A bad object in a one-way call fails the call at its sender.")
{
	struct client *manager = manager_new(), *client = client_new();
	binder_size_t offset = 2;

	call_oneway(client, 0, .data = three, .size = sizeof(three), .offsets = &offset,
		    .offsets_size = 8);
	expect_refused(client, manager, EINVAL);
	call_oneway(client, 0, .code = 5);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 5);
}
