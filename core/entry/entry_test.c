// SPDX-License-Identifier: GPL-2.0
/* Commands and returns, opens, and the reclaim of pages. */
#include "common/limits.h"
#include "pair.h"
#include "check.h"

/* ---- command.c, reader.c: long streams, which are cut in slices ------------------------------ */

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

PAIR_TEST(command_long_stream)
{
	const u32 slice = BINDER_SLICE_COST * sizeof(u32);
	struct binder_write_read bwr;

	/* O_NONBLOCK is remembered for the read. */
	CHECK(begin_long(p, &bwr, BINDER_SLICE_COST * 2 + 1) == BINDER_AGAIN);
	CHECK(bwr.write_consumed == slice);
	CHECK(resume(p, &bwr, RESUME_WOKEN) == BINDER_AGAIN);
	CHECK(bwr.write_consumed == slice * 2);
	CHECK(resume(p, &bwr, RESUME_WOKEN) == -EAGAIN);
	CHECK(bwr.write_consumed == bwr.write_size);

	CHECK(begin_long(p, &bwr, BINDER_SLICE_COST) == -EAGAIN);

	CHECK(begin_long(p, &bwr, BINDER_SLICE_COST + 1) == BINDER_AGAIN);
	bwr.read_consumed = 1;
	CHECK(resume(p, &bwr, RESUME_INTERRUPTED) == -EINTR);
	CHECK(bwr.write_consumed == slice && !bwr.read_consumed);

	CHECK(begin_long(p, &bwr, BINDER_SLICE_COST + 1) == BINDER_AGAIN);
	CHECK(resume(p, &bwr, RESUME_TIMED_OUT) == -EINTR && bwr.write_consumed == slice);
	/* It is over: the next call is one of its own. */
	CHECK(begin_long(p, &bwr, 1) == -EAGAIN && bwr.write_consumed == sizeof(u32));
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
PAIR_TEST(command_that_takes_long)
{
	enum { COUNT = BINDER_LONG_OBJECTS + 1 };
	static struct flat_binder_object objects[COUNT];
	static u64 offsets[COUNT];
	struct binder_transaction_data tr;
	struct binder_write_read bwr = { 0 };
	struct world_call call;

	call = many_objects(p, COUNT - 1, objects, offsets);
	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == BINDER_WOULD_BLOCK);
	CHECK(!client_thread(p)->long_command);
	REQUIRE(pair_receive(p, &tr));
	world_free_buffer(p->s, &tr);
	pair_reply(p, "");
	CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));

	call = many_objects(p, COUNT, objects, offsets);
	world_call(p->c, &call);
	bwr.write_size = p->c->out_len;
	bwr.write_buffer = p->c->out_at;
	CHECK(ioctl_once(p, &bwr) == BINDER_AGAIN && !bwr.write_consumed);
	CHECK(binder_thread_takes_long(client_thread(p)));
	CHECK(resume(p, &bwr, RESUME_INTERRUPTED) == -EINTR && !bwr.write_consumed);
	CHECK(!binder_thread_takes_long(client_thread(p)));
	CHECK(ioctl_once(p, &bwr) == BINDER_AGAIN && !bwr.write_consumed);
	CHECK(resume(p, &bwr, RESUME_WOKEN) == 0 && bwr.write_consumed == bwr.write_size);
	CHECK(!binder_thread_takes_long(client_thread(p)));
	p->c->out_len = 0;
	pair_serve(p);
	REQUIRE(pair_receive(p, &tr));
	CHECK(tr.offsets_size == COUNT * sizeof(u64));
	CHECK(host_atomic_read(&p->client->proc->stats.bc[ABI_IOC_NR(BC_TRANSACTION)]) == 3);
	world_free_buffer(p->s, &tr);
	CHECK(world_write_read(p->s, false) == 0);
	CHECK(host_atomic_read(&p->server->proc->stats.bc[ABI_IOC_NR(BC_FREE_BUFFER)]) == 2);
	CHECK(!p->server->proc->alloc.nr_buffers);
}

/* However large its buffer is, a read returns no more than a bound; the next one goes on. */
PAIR_TEST(command_many_returns)
{
	enum { COUNT = BINDER_LONG_OBJECTS + 1, ROOM = 4 * BINDER_READ_MAX };
	static struct flat_binder_object objects[COUNT];
	static u64 offsets[COUNT];
	struct binder_transaction_data tr;
	struct binder_write_read bwr = { 0 };
	struct world_call call;
	u64 first;

	call = many_objects(p, COUNT, objects, offsets);
	world_call(p->c, &call);
	bwr.write_size = p->c->out_len;
	bwr.write_buffer = p->c->out_at;
	CHECK(ioctl_once(p, &bwr) == BINDER_AGAIN);
	CHECK(resume(p, &bwr, RESUME_WOKEN) == 0);
	p->c->out_len = 0;
	pair_serve(p);
	REQUIRE(pair_receive(p, &tr));
	pair_reply(p, "");

	bwr = (struct binder_write_read){
		.read_size = ROOM,
		.read_buffer = world_memory(p->client, NULL, ROOM),
	};
	CHECK(ioctl_once(p, &bwr) == 0);
	first = bwr.read_consumed;
	CHECK(first > BINDER_READ_MAX - sizeof(tr) - 16 && first <= BINDER_READ_MAX);
	bwr.read_consumed = 0;
	CHECK(ioctl_once(p, &bwr) == 0);
	/* BR_INCREFS and BR_ACQUIRE of each object, BR_NOOP twice, the completion, the reply */
	CHECK(first + bwr.read_consumed == COUNT * 2 * (sizeof(u32) + 2 * sizeof(u64)) +
					   4 * sizeof(u32) + sizeof(tr));
}

/* Calls cost more: the ninth of a stream is put back. */
PAIR_TEST(command_many_calls)
{
	struct binder_transaction_data tr = { .flags = TF_ONE_WAY };
	struct binder_write_read bwr = { 0 };
	u32 i;

	for (i = 0; i < 9; i++)
		world_command(p->c, BC_TRANSACTION, &tr);
	bwr.write_size = p->c->out_len;
	bwr.write_buffer = p->c->out_at;
	CHECK(ioctl_once(p, &bwr) == BINDER_AGAIN);
	CHECK(bwr.write_consumed == bwr.write_size / 9 * 8);
	CHECK(resume(p, &bwr, RESUME_WOKEN) == 0);
	CHECK(bwr.write_consumed == bwr.write_size);
	p->c->out_len = 0;
	CHECK(world_write_read(p->c, true) == 0);
}

/* ---- open.c: mmap and flush ------------------------------------------------------------------ */

PAIR_TEST(open_is_mapped_once)
{
	struct world_proc *proc;

	proc = world_proc(&p->w);
	CHECK(binder_mmap(proc->proc, SIM_MAP_BASE, HOST_PAGE_SIZE - 1) == -EINVAL);
	CHECK(binder_mmap(proc->proc, SIM_MAP_BASE, WORLD_MAP_SIZE) == 0);
	CHECK(binder_mmap(proc->proc, SIM_MAP_BASE, WORLD_MAP_SIZE) == -EBUSY);
}

PAIR_TEST(open_flush_ends_waiting_reads)
{
	REQUIRE(p->s->parked);
	binder_flush(p->server->proc);
	world_run(&p->w);
	CHECK(!p->s->parked && p->s->result == 0 && !world_next(p->s, NULL));
	CHECK(world_write_read(p->s, true) == BINDER_WOULD_BLOCK);
}

PAIR_TEST(open_read_returns_when_its_time_is_over)
{
	REQUIRE(p->s->parked);
	world_resume(p->s, RESUME_TIMED_OUT);
	CHECK(!p->s->parked && p->s->result == 0 && !world_next(p->s, NULL));
	CHECK(world_write_read(p->s, true) == BINDER_WOULD_BLOCK);
}

/* ---- reclaim.c: available pages -------------------------------------------------------------- */

static bool is_wanted(const struct host_proc *proc, void *sim)
{
	return proc->sim == sim;
}

PAIR_TEST(reclaim_evicts_available_pages)
{
	struct binder_transaction_data tr;

	CHECK(!binder_idle_pages());
	CHECK(pair_call(p, 0, 1, TF_ONE_WAY, "x") == 0);
	REQUIRE(pair_receive(p, &tr));
	CHECK(!binder_shrink(100)); /* the page is under a buffer */
	world_free_buffer(p->s, &tr);
	CHECK(world_write_read(p->s, false) == 0);
	CHECK(binder_idle_pages() == 1);
	CHECK(!binder_shrink(0));
	CHECK(!binder_shrink_some(100, is_wanted, p->client->sim));
	CHECK(binder_shrink_some(100, is_wanted, p->server->sim) == 1);
	CHECK(!binder_idle_pages());
}

/* ---- returns.c: returns that cannot be written, work that comes to nothing ------------------- */

PAIR_TEST(returns_into_bad_memory_lose_no_call)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 0x10 };

	world_resume(p->s, RESUME_INTERRUPTED);
	pair_call(p, 0, 1, 0, "x");
	CHECK(world_ioctl(p->s, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(p->c->parked);
	CHECK(world_write_read(p->s, true) == 0);
	CHECK(pair_expect(p->s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
}

/* The rest of what an unwritable read would have returned comes with the next one, too. */
PAIR_TEST(returns_into_bad_memory_lose_nothing)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 0x10 };
	struct flat_binder_object object = pair_binder(0x1000, 0x2000, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ONE_WAY);
	u32 max = 1;

	CHECK(world_ioctl(p->c, BINDER_SET_MAX_THREADS, &max) == 0);
	world_command(p->c, BC_ENTER_LOOPER, NULL);
	world_call(p->c, &(struct world_call){ .flags = TF_ONE_WAY });
	CHECK(world_write_read(p->c, false) == 0);
	CHECK(world_ioctl(p->c, BINDER_WRITE_READ, &bwr) == -EFAULT); /* one completion */
	world_call(p->c, &call);
	CHECK(world_write_read(p->c, false) == 0);
	CHECK(world_ioctl(p->c, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(world_ioctl(p->c, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(pair_expect(p->c, BR_SPAWN_LOOPER, NULL));
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_INCREFS, NULL));
	CHECK(pair_expect(p->c, BR_ACQUIRE, NULL));
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(!world_next(p->c, NULL));
}

/* A node that is strong again before its owner reads that it was not. */
static int read_withdrawn(u64 consumed)
{
	struct flat_binder_object object = pair_binder(0xaaa, 0xbbb, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ONE_WAY);
	struct binder_write_read bwr = { .read_size = 256, .read_consumed = consumed };
	struct binder_ptr_cookie done = { 0xaaa, 0xbbb };
	struct world_thread *other;
	struct pair p;
	u32 handle;
	int err;

	pair_begin(&p);
	other = world_thread(p.client);
	world_write_read(other, false);
	handle = pair_send_object(&p, 0xaaa, 0xbbb);
	world_command(p.c, BC_INCREFS_DONE, &done);
	world_command(p.c, BC_ACQUIRE_DONE, &done);
	world_command(p.c, BC_ENTER_LOOPER, NULL); /* to read work of the process too */
	world_write_read(p.c, false);
	while (world_next(p.c, NULL))
		;
	world_resume(p.s, RESUME_INTERRUPTED);
	world_command(p.s, BC_RELEASE, &handle);
	world_write_read(p.s, false);
	world_call(other, &call);
	world_write_read(other, false);
	bwr.read_buffer = world_memory(p.client, NULL, 256);
	err = world_ioctl(p.c, BINDER_WRITE_READ, &bwr);
	CHECK(pair_end(&p));
	return err;
}

TEST(returns_behind_a_noop_wait)
{
	CHECK(read_withdrawn(8) == 0);
	CHECK(read_withdrawn(sizeof(u32)) == BINDER_WOULD_BLOCK);
}

/* The server replies, and the completion waits for what comes next. */
static void reply_deferred(struct pair *p)
{
	const struct world_call reply = { .flags = TF_DEFER_COMPLETE };

	world_reply(p->s, &reply);
	CHECK(world_write_read(p->s, false) == 0);
	world_run(&p->w);
}

static void expect_deferred(struct pair *p)
{
	CHECK(world_write_read(p->s, true) == 0);
	CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->s, BR_TRANSACTION, NULL));
}

PAIR_TEST(returns_keep_what_was_deferred)
{
	struct binder_write_read bad = { .read_size = 256, .read_buffer = 0x10 };
	struct binder_write_read small = { .read_size = 40 };
	u32 handle;

	handle = pair_send_object(p, 0x1000, 0x2000);
	world_resume(p->s, RESUME_INTERRUPTED);
	while (world_next(p->s, NULL))
		;
	pair_call(p, 0, 1, 0, "x");
	CHECK(world_write_read(p->s, true) == 0);
	CHECK(pair_expect(p->s, BR_TRANSACTION, NULL));
	reply_deferred(p);
	pair_call(p, 0, 2, 0, "y");
	CHECK(world_ioctl(p->s, BINDER_WRITE_READ, &bad) == -EFAULT);
	expect_deferred(p);
	/* A call that is in the thread's own list, behind the completion, is to be read first. */
	reply_deferred(p);
	small.read_buffer = world_memory(p->server, NULL, 40);
	CHECK(world_ioctl(p->s, BINDER_WRITE_READ, &small) == BINDER_WOULD_BLOCK);
	pair_call(p, 0, 3, 0, "z");
	world_run(&p->w);
	CHECK(!p->s->parked);
	world_call(p->s, &(struct world_call){ .handle = handle });
	expect_deferred(p);
	CHECK(world_poll_read(p->s) == 0);
	CHECK(pair_expect(p->s, BR_FAILED_REPLY, NULL));
}
