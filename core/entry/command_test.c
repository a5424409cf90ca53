// SPDX-License-Identifier: GPL-2.0
/* Long streams of commands and returns, which are cut in slices. */
#include "pair.h"
#include "common/limits.h"
#include "check.h"

static struct binder_thread *client_thread(struct pair *p)
{
	return binder_thread_find(p->client->proc, p->c->tid);
}

static int ioctl_once(struct pair *p, struct binder_write_read *bwr)
{
	return binder_ioctl(client_thread(p), BINDER_WRITE_READ, bwr, true);
}

static int resume(struct pair *p, struct binder_write_read *bwr, enum binder_resume_reason why)
{
	if (world_hands_over)
		world_hand_over(&p->w);
	return binder_resume(client_thread(p), BINDER_WRITE_READ, bwr, why);
}

/* Begins a non-blocking write of @count times BC_ENTER_LOOPER, and a read; returns the result. */
static int begin_long(struct pair *p, struct binder_write_read *bwr, u32 count)
{
	u32 *stream = host_alloc_large(NULL, count * sizeof(*stream));
	u32 i;

	for (i = 0; i < count; i++)
		stream[i] = BC_ENTER_LOOPER;
	*bwr = (struct binder_write_read){
		.write_size = count * sizeof(*stream),
		.write_buffer = world_memory(p->client, stream, count * sizeof(*stream)),
		.read_size = 256,
		.read_buffer = p->c->in_at,
	};
	host_free(stream);
	return ioctl_once(p, bwr);
}

TEST(command_long_stream)
{
	const u32 slice = BINDER_SLICE_COST * sizeof(u32);
	struct binder_write_read bwr;
	struct pair p;

	pair_begin(&p);
	/* O_NONBLOCK is remembered for the read. */
	CHECK(begin_long(&p, &bwr, BINDER_SLICE_COST * 2 + 1) == BINDER_AGAIN);
	CHECK(bwr.write_consumed == slice);
	CHECK(resume(&p, &bwr, RESUME_WOKEN) == BINDER_AGAIN);
	CHECK(bwr.write_consumed == slice * 2);
	CHECK(resume(&p, &bwr, RESUME_WOKEN) == -EAGAIN);
	CHECK(bwr.write_consumed == bwr.write_size);

	CHECK(begin_long(&p, &bwr, BINDER_SLICE_COST) == -EAGAIN);

	CHECK(begin_long(&p, &bwr, BINDER_SLICE_COST + 1) == BINDER_AGAIN);
	bwr.read_consumed = 1;
	CHECK(resume(&p, &bwr, RESUME_INTERRUPTED) == -EINTR);
	CHECK(bwr.write_consumed == slice && !bwr.read_consumed);

	CHECK(begin_long(&p, &bwr, BINDER_SLICE_COST + 1) == BINDER_AGAIN);
	CHECK(resume(&p, &bwr, RESUME_TIMED_OUT) == -EINTR && bwr.write_consumed == slice);
	/* It is over: the next call is one of its own. */
	CHECK(begin_long(&p, &bwr, 1) == -EAGAIN && bwr.write_consumed == sizeof(u32));
	CHECK(pair_end(&p));
}

/* @count objects of the client, with their offsets. */
static struct world_call many_objects(struct pair *p, u32 count, struct flat_binder_object *objects,
				      u64 *offsets)
{
	u32 i;

	for (i = 0; i < count; i++) {
		objects[i] = pair_binder(0x10000 + 16 * i, 1, 0);
		offsets[i] = i * sizeof(objects[i]);
	}
	return (struct world_call){ .data = objects, .size = count * sizeof(objects[0]),
				    .offsets = offsets, .nr_offsets = count };
}

/* A call with many objects, and freeing its buffer, are put off once each, and counted once. */
TEST(command_that_takes_long)
{
	enum { COUNT = BINDER_LONG_OBJECTS + 1 };
	static struct flat_binder_object objects[COUNT];
	static u64 offsets[COUNT];
	struct binder_transaction_data tr;
	struct binder_write_read bwr = { 0 };
	struct world_call call;
	struct pair p;

	pair_begin(&p);
	call = many_objects(&p, COUNT - 1, objects, offsets);
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == BINDER_WOULD_BLOCK);
	CHECK(!client_thread(&p)->long_command);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "");
	CHECK(pair_expect(p.s, BR_TRANSACTION_COMPLETE, NULL));

	call = many_objects(&p, COUNT, objects, offsets);
	world_call(p.c, &call);
	bwr.write_size = p.c->out_len;
	bwr.write_buffer = p.c->out_at;
	CHECK(ioctl_once(&p, &bwr) == BINDER_AGAIN && !bwr.write_consumed);
	CHECK(binder_thread_takes_long(client_thread(&p)));
	CHECK(resume(&p, &bwr, RESUME_INTERRUPTED) == -EINTR && !bwr.write_consumed);
	CHECK(!binder_thread_takes_long(client_thread(&p)));
	CHECK(ioctl_once(&p, &bwr) == BINDER_AGAIN && !bwr.write_consumed);
	CHECK(resume(&p, &bwr, RESUME_WOKEN) == 0 && bwr.write_consumed == bwr.write_size);
	CHECK(!binder_thread_takes_long(client_thread(&p)));
	p.c->out_len = 0;
	pair_serve(&p);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	CHECK(tr.offsets_size == COUNT * sizeof(u64));
	CHECK(host_atomic_read(&p.client->proc->stats.bc[ABI_IOC_NR(BC_TRANSACTION)]) == 3);
	world_free_buffer(p.s, &tr);
	CHECK(world_write_read(p.s, false) == 0);
	CHECK(host_atomic_read(&p.server->proc->stats.bc[ABI_IOC_NR(BC_FREE_BUFFER)]) == 2);
	CHECK(!p.server->proc->alloc.nr_buffers);
	CHECK(pair_end(&p));
}

/* However large its buffer is, a read returns no more than a bound; the next one goes on. */
TEST(command_many_returns)
{
	enum { COUNT = BINDER_LONG_OBJECTS + 1, ROOM = 4 * BINDER_READ_MAX };
	static struct flat_binder_object objects[COUNT];
	static u64 offsets[COUNT];
	struct binder_transaction_data tr;
	struct binder_write_read bwr = { 0 };
	struct world_call call;
	struct pair p;
	u64 first;

	pair_begin(&p);
	call = many_objects(&p, COUNT, objects, offsets);
	world_call(p.c, &call);
	bwr.write_size = p.c->out_len;
	bwr.write_buffer = p.c->out_at;
	CHECK(ioctl_once(&p, &bwr) == BINDER_AGAIN);
	CHECK(resume(&p, &bwr, RESUME_WOKEN) == 0);
	p.c->out_len = 0;
	pair_serve(&p);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	pair_reply(&p, "");

	bwr = (struct binder_write_read){
		.read_size = ROOM,
		.read_buffer = world_memory(p.client, NULL, ROOM),
	};
	CHECK(ioctl_once(&p, &bwr) == 0);
	first = bwr.read_consumed;
	CHECK(first > BINDER_READ_MAX - sizeof(tr) - 16 && first <= BINDER_READ_MAX);
	bwr.read_consumed = 0;
	CHECK(ioctl_once(&p, &bwr) == 0);
	/* BR_INCREFS and BR_ACQUIRE of each object, BR_NOOP twice, the completion, the reply */
	CHECK(first + bwr.read_consumed == COUNT * 2 * (sizeof(u32) + 2 * sizeof(u64)) +
					   4 * sizeof(u32) + sizeof(tr));
	CHECK(pair_end(&p));
}

/* Calls cost more: the ninth of a stream is put back. */
TEST(command_many_calls)
{
	struct binder_transaction_data tr = { .flags = TF_ONE_WAY };
	struct binder_write_read bwr = { 0 };
	struct pair p;
	u32 i;

	pair_begin(&p);
	for (i = 0; i < 9; i++)
		world_command(p.c, BC_TRANSACTION, &tr);
	bwr.write_size = p.c->out_len;
	bwr.write_buffer = p.c->out_at;
	CHECK(ioctl_once(&p, &bwr) == BINDER_AGAIN);
	CHECK(bwr.write_consumed == bwr.write_size / 9 * 8);
	CHECK(resume(&p, &bwr, RESUME_WOKEN) == 0);
	CHECK(bwr.write_consumed == bwr.write_size);
	p.c->out_len = 0;
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_end(&p));
}
