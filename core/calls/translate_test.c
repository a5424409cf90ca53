// SPDX-License-Identifier: GPL-2.0
/* What the log says of objects that are refused; the conformance suite has the rules. */
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
