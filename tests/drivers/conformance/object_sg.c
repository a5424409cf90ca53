// SPDX-License-Identifier: GPL-2.0
/*
 * Scatter-gather: buffers sent beside the payload (BINDER_TYPE_PTR), and pointers in them or to
 * them that the driver sets for the receiver. Parents follow a few bytes of data: the C driver
 * takes a parent at offset 0 for none.
 */
#include <string.h>

#include "expect.h"
#include "test.h"

/* Memory of a client that lies in its mapping. */
static void *read_mapped(struct client *client, uint64_t at, size_t size)
{
	EXPECT(at >= (uintptr_t)client->port->map);
	EXPECT(at + size <= (uintptr_t)client->port->map + client->port->map_bytes);
	return read_memory(client, at, size);
}

static void expect_memory(struct client *client, uint64_t at, const void *bytes, size_t size)
{
	EXPECT(!memcmp(read_mapped(client, at, size), bytes, size));
}

static void expect_refused(struct client *client, struct client *server)
{
	expect_only(client, BR_FAILED_REPLY);
	expect_nothing(server);
	EXPECT_EQ(extended_error(client).param, -EINVAL);
	round_trip(client, 0, server);
}

static void *shared_text(const char *text)
{
	return shared_copy(text, strlen(text) + 1);
}

/* A shared buffer of one pointer-sized word and some bytes, for a parent. */
static void *shared_words(void)
{
	static const uint64_t words[4] = { ~0ull, ~0ull, ~0ull, ~0ull };

	return shared_copy(words, sizeof(words));
}

TEST(sg_buffer_arrives, "A buffer arrives in the receiver's mapping and the object points to it.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call(client, 0, .sg = true, .objects = { OBJ_PTR(shared_text("gathered"), 9) });
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_PTR);
	EXPECT_EQ(object_at(got, 0)->ptr.length, 9);
	EXPECT_EQ(object_at(got, 0)->ptr.buffer % 8, 0);
	expect_memory(manager, object_at(got, 0)->ptr.buffer, "gathered", 9);
}

TEST(sg_buffer_in_reply, "A reply carries buffers, too.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call_received(client, 0, manager);
	reply(manager, .sg = true, .objects = { OBJ_PTR(shared_text("answer"), 7) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	got = expect_sent(client, BR_REPLY);
	expect_memory(client, object_at(got, 0)->ptr.buffer, "answer", 7);
}

TEST(sg_buffers_follow_each_other, "Several buffers follow each other, each aligned to eight.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint64_t first;

	call(client, 0, .sg = true,
	     .objects = { OBJ_PTR(shared_text("one"), 4), OBJ_PTR(shared_text("twelve bytes"), 12),
			  OBJ_PTR(shared_text("end"), 4) });
	got = expect(manager, BR_TRANSACTION);
	first = object_at(got, 0)->ptr.buffer;
	EXPECT_EQ(first, got->txn.data.ptr.offsets + got->txn.offsets_size);
	EXPECT_EQ(object_at(got, 1)->ptr.buffer, first + 8);
	EXPECT_EQ(object_at(got, 2)->ptr.buffer, first + 24);
	expect_memory(manager, first, "one", 4);
	expect_memory(manager, first + 8, "twelve bytes", 12);
	expect_memory(manager, first + 24, "end", 4);
}

TEST(sg_parent_is_fixed_up, "A pointer in a parent buffer is set to the address of the child.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint64_t *words;

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_words(), 32),
			  OBJ_CHILD(shared_text("child"), 6, 0, 16) });
	got = expect(manager, BR_TRANSACTION);
	words = read_mapped(manager, object_at(got, 0)->ptr.buffer, 32);
	EXPECT_EQ(words[0], ~0ull);
	EXPECT_EQ(words[2], object_at(got, 1)->ptr.buffer);
	EXPECT_EQ(words[3], ~0ull);
	expect_memory(manager, words[2], "child", 6);
}

TEST(sg_grandchild_is_fixed_up, "A child may be the parent of another buffer.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint64_t *words;

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_words(), 16),
			  OBJ_CHILD(shared_words(), 16, 0, 0),
			  OBJ_CHILD(shared_text("leaf"), 5, 1, 8) });
	got = expect(manager, BR_TRANSACTION);
	words = read_mapped(manager, object_at(got, 0)->ptr.buffer, 16);
	EXPECT_EQ(words[0], object_at(got, 1)->ptr.buffer);
	words = read_mapped(manager, words[0], 16);
	EXPECT_EQ(words[1], object_at(got, 2)->ptr.buffer);
}

TEST(sg_two_children_in_order, "Two children of one parent are set when their offsets increase.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;
	uint64_t *words;

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_words(), 16),
			  OBJ_CHILD(shared_text("a"), 2, 0, 0),
			  OBJ_CHILD(shared_text("b"), 2, 0, 8) });
	got = expect(manager, BR_TRANSACTION);
	words = read_mapped(manager, object_at(got, 0)->ptr.buffer, 16);
	EXPECT_EQ(words[0], object_at(got, 1)->ptr.buffer);
	EXPECT_EQ(words[1], object_at(got, 2)->ptr.buffer);
}

/* Two fix-ups of one parent, at these offsets. */
static void expect_fixups_refused(size_t first, size_t second)
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_words(), 16),
			  OBJ_CHILD(shared_text("a"), 2, 0, first),
			  OBJ_CHILD(shared_text("b"), 2, 0, second) });
	expect_refused(client, manager);
}

TEST(sg_fixups_out_of_order, "Fix-ups of one parent with offsets out of order are refused.")
{
	expect_fixups_refused(8, 0);
}

TEST(sg_fixups_overlapping, "Fix-ups that overlap are refused.")
{
	expect_fixups_refused(0, 4);
}

TEST(sg_back_to_grandparent,
     "After a fix-up in a child the grandparent may be fixed up again, but not a finished child.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_words(), 16),
			  OBJ_CHILD(shared_words(), 16, 0, 0),
			  OBJ_CHILD(shared_text("leaf"), 5, 1, 0),
			  OBJ_CHILD(shared_text("b"), 2, 0, 8) });
	complete_call(manager, expect(manager, BR_TRANSACTION), client);
	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_words(), 16),
			  OBJ_CHILD(shared_words(), 16, 0, 0),
			  OBJ_CHILD(shared_text("b"), 2, 0, 8),
			  OBJ_CHILD(shared_text("leaf"), 5, 1, 0) });
	expect_refused(client, manager);
}

TEST(sg_parent_offset_outside, "A fix-up that does not lie in its parent is refused.")
{
	static const binder_size_t bad[] = { 9, 16, 17, 1 << 20, 1ull << 63, ~0ull, ~7ull };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		call(client, 0, .sg = true, .data = "a header", .size = 8,
		     .objects = { OBJ_PTR(shared_words(), 16),
				  OBJ_CHILD(shared_text("a"), 2, 0, bad[i]) });
		expect_refused(client, manager);
	}
}

TEST(sg_parent_is_no_buffer, "A parent that is no buffer object is refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_BINDER(0x10, 0x20),
			  OBJ_CHILD(shared_text("a"), 2, 0, 0) });
	expect_refused(client, manager);
}

TEST(sg_parent_not_before,
     "A parent must come before its child: not itself, not later, not out of bounds.")
{
	static const binder_size_t bad[] = { 1, 2, 3, 1000, ~0ull };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		call(client, 0, .sg = true, .data = "a header", .size = 8,
		     .objects = { OBJ_PTR(shared_words(), 16),
				  OBJ_CHILD(shared_words(), 16, bad[i], 0),
				  OBJ_PTR(shared_words(), 16) });
		expect_refused(client, manager);
	}
}

TEST(sg_room_too_small, "Buffers that need more than buffers_size are refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .sg = true, .buffers_size = 8, .objects = { OBJ_PTR(shared_words(), 16) });
	expect_refused(client, manager);
	call(client, 0, .sg = true, .buffers_size = 16,
	     .objects = { OBJ_PTR(shared_words(), 4), OBJ_PTR(shared_words(), 16) });
	expect_refused(client, manager);
}

TEST(sg_room_misaligned, "A buffers_size that is not a multiple of eight is refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .sg = true, .buffers_size = 9, .objects = { OBJ_PTR(shared_words(), 4) });
	expect_refused(client, manager);
}

TEST(sg_room_huge, "A buffers_size beyond all space fails and does no harm.")
{
	static const size_t sizes[] = { 2 << 20, 1ull << 40, 1ull << 63, ~7ull };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		call(client, 0, .sg = true, .buffers_size = sizes[i],
		     .objects = { OBJ_PTR(shared_words(), 4) });
		expect(client, BR_FAILED_REPLY);
		expect_nothing(manager);
		round_trip(client, 0, manager);
	}
}

TEST(sg_length_huge, "A buffer object of a huge length is refused.")
{
	static const uint64_t lengths[] = { 1 << 20, 1ull << 40, 1ull << 63, ~0ull, ~7ull };
	struct client *manager = manager_new(), *client = client_new();

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		call(client, 0, .sg = true, .buffers_size = 64,
		     .objects = { OBJ_PTR(shared_words(), lengths[i]) });
		expect_refused(client, manager);
	}
}

TEST(sg_room_to_spare, "A buffers_size larger than needed is allowed.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call(client, 0, .sg = true, .buffers_size = 4096,
	     .objects = { OBJ_PTR(shared_text("x"), 2) });
	got = expect(manager, BR_TRANSACTION);
	expect_memory(manager, object_at(got, 0)->ptr.buffer, "x", 2);
	complete_call(manager, got, client);
}

TEST(sg_plain_command_has_no_room,
     "Without the _SG form of the command a buffer object is refused.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .objects = { OBJ_PTR(shared_text("x"), 2) });
	expect_refused(client, manager);
}

TEST(sg_unreadable_buffer, "A buffer at an unmapped address fails the call.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .sg = true, .objects = { OBJ_PTR(0x1000, 16) });
	expect_refused(client, manager);
}

TEST(sg_empty_buffer, "A buffer of no bytes is allowed.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call(client, 0, .sg = true, .buffers_size = 8, .objects = { OBJ_PTR(0, 0) });
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->ptr.length, 0);
	complete_call(manager, got, client);
}

TEST(sg_does_not_write_the_sender, "The sender's own parent buffer stays unchanged.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint64_t *words = shared_words();

	call(client, 0, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(words, 16),
			  OBJ_CHILD(shared_text("child"), 6, 0, 0) });
	expect(manager, BR_TRANSACTION);
	EXPECT_EQ(words[0], ~0ull);
}

#define CHAIN 40

TEST(sg_chain_of_many, "Buffers may be nested deeply, each the child of the one before.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct binder_buffer_object *objects = shared_alloc((CHAIN + 1) * sizeof(*objects));
	binder_size_t *offsets = shared_alloc(CHAIN * sizeof(*offsets));
	uint64_t *words = shared_alloc(CHAIN * 16);
	const struct binder_buffer_object *there;

	/* data at offset 0: the C driver takes a parent there for none */
	for (size_t i = 0; i < CHAIN; i++) {
		offsets[i] = (i + 1) * sizeof(*objects);
		objects[i + 1] = (struct binder_buffer_object){
			.hdr.type = BINDER_TYPE_PTR,
			.flags = i ? BINDER_BUFFER_FLAG_HAS_PARENT : 0,
			.buffer = (uintptr_t)&words[i * 2],
			.length = 16,
			.parent = i ? i - 1 : 0,
			.parent_offset = 8,
		};
	}
	call(client, 0, .sg = true, .data = objects, .size = (CHAIN + 1) * sizeof(*objects),
	     .offsets = offsets, .offsets_size = CHAIN * sizeof(*offsets),
	     .buffers_size = CHAIN * 16);
	there = (const void *)expect(manager, BR_TRANSACTION)->data;
	for (size_t i = 1; i < CHAIN; i++)
		EXPECT_EQ(there[i + 1].buffer, there[1].buffer + i * 16);
}
