// SPDX-License-Identifier: GPL-2.0
/* The data of transactions that a trace is told. */
#include "pair.h"
#include "check.h"

#define LONG (HOST_TRACE_DATA_MAX + 500)

static void begin(struct pair *p)
{
	sim_data = (struct sim_data){ 0 };
	sim_data_wanted = true;
	sim_data_to_clear_wanted = false;
	pair_begin(p);
}

static void end(struct pair *p)
{
	sim_data_wanted = false;
	CHECK(pair_end(p));
}

#define EXCERPT_TEST(name) TEST_WITH(name, struct pair, p, begin, end)

/* What the server received is what was told. */
static bool is_as_received(struct pair *p, const struct binder_transaction_data *tr)
{
	u8 got[HOST_TRACE_DATA_MAX];

	return sim_data.size <= tr->data_size && sim_data.size <= sizeof(got) &&
	       !sim_read(p->server->sim, got, tr->data.ptr.buffer, sim_data.size) &&
	       !memcmp(got, sim_data.bytes, sim_data.size);
}

EXCERPT_TEST(excerpt_has_the_data_of_calls_and_replies)
{
	struct binder_transaction_data tr;
	u32 call_id;

	pair_call(p, 0, 1, 0, "question");
	REQUIRE(pair_receive(p, &tr));
	CHECK(sim_data.count == 1 && sim_data.size == 9);
	CHECK(!strcmp((char *)sim_data.bytes, "question"));
	CHECK(is_as_received(p, &tr));
	call_id = sim_data.id;
	pair_reply(p, "answer");
	CHECK(sim_data.count == 2 && sim_data.id != call_id);
	CHECK(sim_data.size == 7 && !strcmp((char *)sim_data.bytes, "answer"));
}

EXCERPT_TEST(excerpt_is_not_taken_unless_it_is_wanted)
{
	sim_data_wanted = false;
	pair_call(p, 0, 1, 0, "question");
	CHECK(sim_data.count == 0);
}

EXCERPT_TEST(excerpt_leaves_out_data_that_is_to_be_cleared)
{
	struct binder_transaction_data tr;

	pair_call(p, 0, 1, TF_CLEAR_BUF, "password");
	REQUIRE(pair_receive(p, &tr));
	CHECK(pair_has_data(p->s, &tr, "password"));
	CHECK(sim_data.count == 0);
}

EXCERPT_TEST(excerpt_has_data_that_is_to_be_cleared_if_that_is_wanted)
{
	struct binder_transaction_data tr;

	sim_data_wanted = false;
	sim_data_to_clear_wanted = true;
	pair_call(p, 0, 1, TF_CLEAR_BUF, "password");
	REQUIRE(pair_receive(p, &tr));
	CHECK(sim_data.count == 1 && sim_data.to_clear);
	CHECK(!strcmp((char *)sim_data.bytes, "password") && is_as_received(p, &tr));
	pair_reply(p, "answer");
	CHECK(sim_data.count == 1);
	sim_data_to_clear_wanted = false;
}

TEST(excerpt_of_long_data_is_cut)
{
	struct binder_transaction_data tr;
	u8 data[LONG], got[LONG];
	struct world_call call = { .data = data, .size = sizeof(data) };
	struct pair p;

	for (u32 i = 0; i < LONG; i++)
		data[i] = (u8)(i * 7);
	begin(&p);
	world_call(p.c, &call);
	world_write_read(p.c, true);
	REQUIRE(pair_receive(&p, &tr));
	CHECK(sim_data.size == HOST_TRACE_DATA_MAX && is_as_received(&p, &tr));
	REQUIRE(tr.data_size == LONG && !sim_read(p.server->sim, got, tr.data.ptr.buffer, LONG));
	CHECK(!memcmp(got, data, LONG));
	end(&p);
}

/* Objects inside, across, and behind the end of an excerpt. */
TEST(excerpt_has_objects_as_the_receiver_gets_them)
{
	const u64 offsets[] = { 4, 28, 60, HOST_TRACE_DATA_MAX - 8, HOST_TRACE_DATA_MAX + 64 };
	struct binder_transaction_data tr;
	struct flat_binder_object object;
	u8 data[LONG] = { 0 };
	struct world_call call = {
		.data = data, .size = sizeof(data), .offsets = offsets, .nr_offsets = 5,
	};
	struct pair p;

	for (u64 i = 0; i < 5; i++) {
		object = pair_binder(0x7000 + 8 * i, 1, 0);
		memcpy(data + offsets[i], &object, sizeof(object));
	}
	begin(&p);
	world_call(p.c, &call);
	world_write_read(p.c, true);
	REQUIRE(pair_receive(&p, &tr));
	CHECK(sim_data.size == HOST_TRACE_DATA_MAX && is_as_received(&p, &tr));
	memcpy(&object, sim_data.bytes + 28, sizeof(object));
	CHECK(object.hdr.type == BINDER_TYPE_HANDLE && object.handle);
	CHECK(sim_data.objects[0] == (1u << 1 | 1u << 7) && sim_data.objects[1] == 1u << 7);
	CHECK(sim_data.objects[31] == 1u << 6);
	for (u32 i = 2; i < 31; i++)
		CHECK(!sim_data.objects[i]);
	end(&p);
}

/* It is read again then, which may succeed. */
EXCERPT_TEST(excerpt_of_data_that_cannot_be_read_is_none)
{
	struct binder_transaction_data tr;

	world_call(p->c, &(struct world_call){ .data = "x", .size = 1 });
	sim_arm(SIM_READ_CALLER, 2); /* the commands are read first */
	world_write_read(p->c, true);
	CHECK(sim_stats.failed && sim_data.count == 0);
	sim_arm(SIM_ANY, 0);
	CHECK(pair_receive(p, &tr) && tr.data_size == 1);
}
