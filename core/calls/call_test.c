// SPDX-License-Identifier: GPL-2.0
/*
 * Calls and replies through the whole engine. Tests transaction.c, and also send.c,
 * translate.c and entry/returns.c.
 */
#include "pair.h"
#include "check.h"

TEST(call_and_reply)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	CHECK(p.s->parked);
	CHECK(pair_call(&p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	CHECK(tr.code == 7 && tr.sender_pid == p.client->sim->pid && tr.sender_euid == 1000);
	CHECK(tr.target.ptr == 0 && tr.cookie == 0 && tr.offsets_size == 0);
	CHECK(pair_has_data(p.s, &tr, "ping"));
	CHECK(p.c->parked);
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "pong");
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_REPLY, &tr));
	CHECK(pair_has_data(p.c, &tr, "pong"));
	CHECK(tr.sender_pid == 0);
	world_free_buffer(p.c, &tr);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(!world_next(p.c, NULL) && !world_next(p.s, NULL));
	CHECK(pair_end(&p));
}

TEST(call_errors)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	CHECK(pair_call(&p, 99, 1, 0, "") == 0);
	CHECK(pair_expect(p.c, BR_FAILED_REPLY, NULL));
	pair_reply(&p, ""); /* does nothing, as the server is parked */
	world_resume(p.s, RESUME_INTERRUPTED);
	pair_reply(&p, "no call to reply to");
	CHECK(pair_expect(p.s, BR_FAILED_REPLY, NULL));
	world_kill(p.server);
	CHECK(pair_call(&p, 0, 1, 0, "") == 0);
	CHECK(pair_expect(p.c, BR_DEAD_REPLY, NULL));
	CHECK(!pair_expect(p.c, BR_REPLY, &tr));
	CHECK(pair_end(&p));
}

TEST(call_answered_by_a_dying_process)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	CHECK(pair_call(&p, 0, 1, 0, "question") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	p.server->sim->dying = true;
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "answer");
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_DEAD_REPLY, NULL));
	CHECK(pair_end(&p));
}

TEST(call_scatter_gather)
{
	struct {
		u64 token; /* so that no object is at offset 0 */
		struct binder_buffer_object outer, inner;
	} data = { 0 };
	const u64 offsets[] = { sizeof(u64), sizeof(u64) + sizeof(data.outer) };
	struct world_call call = { .data = &data, .size = sizeof(data), .offsets = offsets,
				   .nr_offsets = 2, .buffers_size = 32 };
	struct binder_transaction_data tr;
	u64 pointers[2] = { 0, 0x77 };
	char text[8];
	struct pair p;

	pair_begin(&p);
	data.outer = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR,
		.buffer = world_memory(p.client, pointers, sizeof(pointers)),
		.length = sizeof(pointers),
	};
	data.inner = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR,
		.flags = BINDER_BUFFER_FLAG_HAS_PARENT,
		.buffer = world_memory(p.client, "deep", 5),
		.length = 5,
	};
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	REQUIRE(!sim_read(p.server->sim, &data, tr.data.ptr.buffer, sizeof(data)));
	REQUIRE(!sim_read(p.server->sim, pointers, data.outer.buffer, sizeof(pointers)));
	CHECK(pointers[0] == data.inner.buffer && pointers[1] == 0x77);
	CHECK(!sim_read(p.server->sim, text, pointers[0], 5) && !memcmp(text, "deep", 5));
	CHECK(pair_end(&p));
}
