// SPDX-License-Identifier: GPL-2.0
/* Returns that cannot be written, and work that comes to nothing. */
#include "pair.h"
#include "check.h"

TEST(returns_into_bad_memory_lose_no_call)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 0x10 };
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	pair_call(&p, 0, 1, 0, "x");
	CHECK(world_ioctl(p.s, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(p.c->parked);
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	CHECK(pair_end(&p));
}

/* The rest of what an unwritable read would have returned comes with the next one, too. */
TEST(returns_into_bad_memory_lose_nothing)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 0x10 };
	struct flat_binder_object object = pair_binder(0x1000, 0x2000, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ONE_WAY);
	struct pair p;
	u32 max = 1;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_SET_MAX_THREADS, &max) == 0);
	world_command(p.c, BC_ENTER_LOOPER, NULL);
	world_call(p.c, &(struct world_call){ .flags = TF_ONE_WAY });
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(world_ioctl(p.c, BINDER_WRITE_READ, &bwr) == -EFAULT); /* one completion */
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(world_ioctl(p.c, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(world_ioctl(p.c, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_SPAWN_LOOPER, NULL));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_INCREFS, NULL));
	CHECK(pair_expect(p.c, BR_ACQUIRE, NULL));
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(!world_next(p.c, NULL));
	CHECK(pair_end(&p));
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

TEST(returns_keep_what_was_deferred)
{
	struct binder_write_read bad = { .read_size = 256, .read_buffer = 0x10 };
	struct binder_write_read small = { .read_size = 40 };
	struct pair p;
	u32 handle;

	pair_begin(&p);
	handle = pair_send_object(&p, 0x1000, 0x2000);
	world_resume(p.s, RESUME_INTERRUPTED);
	while (world_next(p.s, NULL))
		;
	pair_call(&p, 0, 1, 0, "x");
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, NULL));
	reply_deferred(&p);
	pair_call(&p, 0, 2, 0, "y");
	CHECK(world_ioctl(p.s, BINDER_WRITE_READ, &bad) == -EFAULT);
	expect_deferred(&p);
	/* A call that is in the thread's own list, behind the completion, is to be read first. */
	reply_deferred(&p);
	small.read_buffer = world_memory(p.server, NULL, 40);
	CHECK(world_ioctl(p.s, BINDER_WRITE_READ, &small) == BINDER_WOULD_BLOCK);
	pair_call(&p, 0, 3, 0, "z");
	world_run(&p.w);
	CHECK(!p.s->parked);
	world_call(p.s, &(struct world_call){ .handle = handle });
	expect_deferred(&p);
	CHECK(world_poll_read(p.s) == 0);
	CHECK(pair_expect(p.s, BR_FAILED_REPLY, NULL));
	CHECK(pair_end(&p));
}
