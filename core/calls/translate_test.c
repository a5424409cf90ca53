// SPDX-License-Identifier: GPL-2.0
/* Calls with valid and invalid objects. */
#include "pair.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

struct three {
	union binder_parcel_object {
		struct flat_binder_object flat;
		struct binder_fd_object fd;
		struct binder_buffer_object buffer;
		struct binder_fd_array_object fda;
	} o[3];
};

#define AT(i) ((i) * sizeof(union binder_parcel_object))

/* Calls the context manager with @data and @offsets; returns the client's first return. */
static u32 call_with(const struct three *data, const u64 *offsets, size_t nr, u64 buffers)
{
	struct world_call call = { .data = data, .size = sizeof(*data), .offsets = offsets,
				   .nr_offsets = nr, .buffers_size = buffers };
	struct pair p;
	u32 br;

	pair_begin(&p);
	world_call(p.c, &call);
	world_write_read(p.c, true);
	br = p.c->parked ? BR_TRANSACTION_COMPLETE : world_next(p.c, NULL);
	CHECK(pair_end(&p));
	return br;
}

static struct flat_binder_object own(u64 ptr)
{
	return pair_binder(ptr, 1, 0);
}

TEST(objects_in_order)
{
	const u64 good[] = { AT(0), AT(1), AT(2) };
	const u64 falling[] = { AT(1), AT(0) };
	const u64 twice[] = { AT(1), AT(1) };
	const u64 overlapping[] = { AT(0), AT(0) + 20 };
	const u64 odd[] = { AT(0) + 2 };
	const u64 outside[] = { sizeof(struct three) };
	const u64 far_away[] = { (u64)-8 };
	const u64 cut[] = { sizeof(struct three) - 16 };
	struct three data = { 0 };

	data.o[0].flat = own(1);
	data.o[1].flat = own(2);
	data.o[2].flat = own(3);
	CHECK(call_with(&data, good, 3, 0) == BR_TRANSACTION_COMPLETE);
	CHECK(call_with(&data, falling, 2, 0) == BR_FAILED_REPLY);
	CHECK(call_with(&data, twice, 2, 0) == BR_FAILED_REPLY);
	CHECK(call_with(&data, overlapping, 2, 0) == BR_FAILED_REPLY);
	CHECK(call_with(&data, odd, 1, 0) == BR_FAILED_REPLY);
	CHECK(call_with(&data, outside, 1, 0) == BR_FAILED_REPLY);
	CHECK(call_with(&data, far_away, 1, 0) == BR_FAILED_REPLY);
	memcpy((u8 *)&data + cut[0], &data.o[0].flat.hdr, sizeof(u32));
	CHECK(call_with(&data, cut, 1, 0) == BR_FAILED_REPLY);
}

TEST(objects_of_unknown_type)
{
	const u64 offsets[] = { 0 };
	struct three data = { 0 };

	CHECK(call_with(&data, offsets, 1, 0) == BR_FAILED_REPLY);
	data.o[0].flat = own(1);
	data.o[0].flat.hdr.type++;
	CHECK(call_with(&data, offsets, 1, 0) == BR_FAILED_REPLY);
}

TEST(objects_that_the_sender_does_not_have)
{
	const u64 offsets[] = { AT(0), AT(1) };
	struct three data = { 0 };

	data.o[0].flat = (struct flat_binder_object){ .hdr.type = BINDER_TYPE_HANDLE,
						      .handle = 9 };
	CHECK(call_with(&data, offsets, 1, 0) == BR_FAILED_REPLY);
	data.o[0].flat.hdr.type = BINDER_TYPE_WEAK_HANDLE;
	CHECK(call_with(&data, offsets, 1, 0) == BR_FAILED_REPLY);
	data.o[0].flat = own(1);
	data.o[1].flat = own(1);
	data.o[1].flat.cookie++;
	CHECK(call_with(&data, offsets, 2, 0) == BR_FAILED_REPLY);
}

TEST(objects_invalid_fd_arrays)
{
	const u64 offsets[] = { AT(1), AT(2) }, from_zero[] = { AT(0), AT(1) };
	struct three data = { 0 };

	data.o[1].buffer = (struct binder_buffer_object){ .hdr.type = BINDER_TYPE_PTR,
							  .buffer = SIM_BASE, .length = 8 };
	data.o[2].fda = (struct binder_fd_array_object){ .hdr.type = BINDER_TYPE_FDA };
	CHECK(call_with(&data, offsets, 2, 8) == BR_TRANSACTION_COMPLETE); /* no files at all */
	data.o[2].fda.num_fds = 3; /* more than the buffer holds */
	CHECK(call_with(&data, offsets, 2, 8) == BR_FAILED_REPLY);
	data.o[2].fda.num_fds = (u64)1 << 62;
	CHECK(call_with(&data, offsets, 2, 8) == BR_FAILED_REPLY);
	data.o[2].fda.num_fds = 1;
	data.o[2].fda.parent = 1;
	CHECK(call_with(&data, offsets, 2, 8) == BR_FAILED_REPLY);
	data.o[0] = data.o[1];
	data.o[1].fda = (struct binder_fd_array_object){ .hdr.type = BINDER_TYPE_FDA };
	CHECK(call_with(&data, from_zero, 1, 8) == BR_TRANSACTION_COMPLETE);
	CHECK(call_with(&data, from_zero, 2, 8) == BR_FAILED_REPLY); /* not a parent */
	data.o[1] = data.o[0];
	data.o[1].buffer.length = 16; /* more than the extra section */
	CHECK(call_with(&data, offsets, 1, 8) == BR_FAILED_REPLY);
	CHECK(call_with(&data, offsets, 1, 12) == BR_FAILED_REPLY);
	data.o[1].buffer.buffer = 0x10; /* unreadable */
	CHECK(call_with(&data, offsets, 1, 16) == BR_FAILED_REPLY);
}

TEST(objects_deeply_nested)
{
	enum { DEPTH = 20 };
	struct {
		u64 token;
		struct binder_buffer_object chain[DEPTH];
	} data = { 0 };
	struct binder_buffer_object *chain = data.chain;
	u64 offsets[DEPTH], i;
	struct world_call call = { .data = &data, .size = sizeof(data), .offsets = offsets,
				   .nr_offsets = DEPTH, .buffers_size = DEPTH * 8 };
	struct binder_transaction_data tr;
	u64 pointer, next;
	struct pair p;

	pair_begin(&p);
	for (i = 0; i < DEPTH; i++) {
		offsets[i] = sizeof(data.token) + i * sizeof(chain[0]);
		chain[i] = (struct binder_buffer_object){
			.hdr.type = BINDER_TYPE_PTR,
			.flags = i ? BINDER_BUFFER_FLAG_HAS_PARENT : 0,
			.buffer = world_memory(p.client, &i, sizeof(i)),
			.length = 8,
			.parent = i - 1,
		};
	}
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	sim_read(p.server->sim, &data, tr.data.ptr.buffer, sizeof(data));
	pointer = chain[0].buffer;
	for (i = 1; i < DEPTH; i++) {
		REQUIRE(!sim_read(p.server->sim, &next, pointer, sizeof(next)));
		CHECK(next == chain[i].buffer);
		pointer = next;
	}
	CHECK(!sim_read(p.server->sim, &next, pointer, sizeof(next)) && next == DEPTH - 1);
	CHECK(pair_end(&p));
}

TEST(objects_invalid_sizes)
{
	struct binder_transaction_data tr = { .data_size = (u64)-1 };
	struct binder_transaction_data_sg sg = { .buffers_size = (u64)-8 };
	struct pair p;

	pair_begin(&p);
	world_command(p.c, BC_TRANSACTION, &tr);
	CHECK(world_write_read(p.c, true) == 0 && pair_expect(p.c, BR_FAILED_REPLY, NULL));
	tr = (struct binder_transaction_data){ .offsets_size = 12, .data_size = 64,
					       .data.ptr.buffer = SIM_BASE,
					       .data.ptr.offsets = SIM_BASE };
	world_command(p.c, BC_TRANSACTION, &tr);
	CHECK(world_write_read(p.c, true) == 0 && pair_expect(p.c, BR_FAILED_REPLY, NULL));
	world_command(p.c, BC_TRANSACTION_SG, &sg);
	CHECK(world_write_read(p.c, true) == 0 && pair_expect(p.c, BR_FAILED_REPLY, NULL));
	CHECK(pair_end(&p));
}

/* A handle that is sent to the owner of the object is translated to a binder. */
TEST(objects_sent_back_to_their_owner)
{
	struct flat_binder_object object = { .hdr.type = BINDER_TYPE_HANDLE };
	struct world_call reply = pair_object_call(&object, sizeof(object), 0);
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	object.handle = pair_send_object(&p, 0x123, 0x456);
	while (world_next(p.c, NULL))
		;
	pair_call(&p, 0, 1, 0, "send it back");
	world_run(&p.w);
	while (world_next(p.s, &tr) != BR_TRANSACTION)
		;
	world_reply(p.s, &reply);
	world_poll_read(p.s);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_REPLY, &tr));
	sim_read(p.client->sim, &object, tr.data.ptr.buffer, sizeof(object));
	CHECK(object.hdr.type == BINDER_TYPE_BINDER);
	CHECK(object.binder == 0x123 && object.cookie == 0x456);
	CHECK(pair_end(&p));
}

/* In the last entry of the log of failures. */
static unsigned long line_of_failure(void)
{
	struct host_out out = { 0 };
	unsigned long line = 0;

	binder_report_failed_transaction_log(&out);
	for (const char *at = out.text; at && (at = strstr(at, " l=")); at++)
		line = strtoul(at + 3, NULL, 10);
	free(out.text);
	return line;
}

/* Also failures that are noticed in the same function, or returned at the same place. */
TEST(objects_that_fail_tell_the_line_of_their_failure)
{
	const u64 first[] = { AT(0) }, odd[] = { 2 }, two[] = { AT(1), AT(2) };
	struct three data = { 0 };
	unsigned long lines[7];

	CHECK(call_with(&data, first, 1, 0) == BR_FAILED_REPLY);
	lines[0] = line_of_failure();
	CHECK(call_with(&data, odd, 1, 0) == BR_FAILED_REPLY);
	lines[1] = line_of_failure();
	data.o[0].flat = (struct flat_binder_object){ .hdr.type = BINDER_TYPE_HANDLE,
						      .handle = 9 };
	CHECK(call_with(&data, first, 1, 0) == BR_FAILED_REPLY);
	lines[2] = line_of_failure();
	data.o[0].buffer = (struct binder_buffer_object){ .hdr.type = BINDER_TYPE_PTR,
							  .buffer = 0x10, .length = 16 };
	CHECK(call_with(&data, first, 1, 8) == BR_FAILED_REPLY); /* too large */
	lines[3] = line_of_failure();
	CHECK(call_with(&data, first, 1, 16) == BR_FAILED_REPLY); /* not readable: at the end */
	lines[4] = line_of_failure();
	data.o[0].buffer.buffer = SIM_BASE;
	data.o[1] = data.o[2] = data.o[0];
	data.o[2].buffer.flags = BINDER_BUFFER_FLAG_HAS_PARENT;
	data.o[2].buffer.parent_offset = 2; /* of the pointer, also at the end */
	CHECK(call_with(&data, two, 2, 32) == BR_FAILED_REPLY);
	lines[5] = line_of_failure();
	CHECK(call_with(&data, first, 1, 12) == BR_FAILED_REPLY); /* not a multiple of 8 */
	lines[6] = line_of_failure();
	for (size_t i = 0; i < 7; i++)
		for (size_t j = 0; j <= i; j++)
			CHECK(lines[i] && (lines[i] != lines[j]) == (i != j));
}
