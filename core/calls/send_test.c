// SPDX-License-Identifier: GPL-2.0
/* Failure notices, which go to the host. */
#include "pair.h"
#include "check.h"

/* The last failure notice, if it is of @error, from @from and about @size bytes; else NULL. */
static const struct host_txn_failure *notice(u32 error, const struct world_thread *from, u64 size)
{
	const struct host_txn_failure *f = sim_last_failure();

	if (!f || f->error != error || f->from_pid != from->proc->sim->pid ||
	    f->from_tid != from->tid || f->data_size != size)
		return NULL;
	return f;
}

static int freeze(struct pair *p)
{
	struct binder_freeze_info info = { .pid = (u32)p->server->sim->pid, .enable = 1 };

	return world_ioctl(p->c, BINDER_FREEZE, &info);
}

TEST(send_success_without_failure_notice)
{
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	sim_forget_failures();
	CHECK(pair_call(&p, 0, 7, TF_ACCEPT_FDS, "ping") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	pair_reply(&p, "pong");
	REQUIRE(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_REPLY, &tr));
	pair_call(&p, 0, 8, TF_ONE_WAY, "no reply");
	CHECK(!sim_last_failure());
	CHECK(pair_end(&p));
}

TEST(send_failure_notice_of_a_call_without_target)
{
	const struct host_txn_failure *f;
	struct pair p;

	pair_begin(&p);
	sim_forget_failures();
	CHECK(pair_call(&p, 99, 5, TF_ACCEPT_FDS, "abc") == 0);
	f = notice(BR_FAILED_REPLY, p.c, 4);
	REQUIRE(f);
	CHECK(!strcmp(f->context, p.w.context->name));
	CHECK(!f->to_pid && !f->to_tid && !f->is_reply);
	CHECK(f->code == 5 && f->flags == TF_ACCEPT_FDS);
	world_kill(p.server);
	CHECK(pair_call(&p, 0, 6, TF_ONE_WAY, "abcd") == 0);
	f = notice(BR_DEAD_REPLY, p.c, 5);
	REQUIRE(f);
	CHECK(!f->to_pid && f->code == 6 && f->flags == TF_ONE_WAY && !f->node);
	CHECK(pair_end(&p));
}

TEST(send_failure_notice_of_a_call_that_does_not_fit)
{
	struct world_call big = { .code = 3, .size = WORLD_MAP_SIZE + 8 };
	const struct host_txn_failure *f;
	struct pair p;

	pair_begin(&p);
	sim_forget_failures();
	world_call(p.c, &big);
	world_write_read(p.c, true);
	f = notice(BR_FAILED_REPLY, p.c, WORLD_MAP_SIZE + 8);
	REQUIRE(f);
	CHECK(f->to_pid == p.server->sim->pid && !f->to_tid && f->code == 3);
	CHECK(pair_end(&p));
}

TEST(send_failure_notice_of_a_reply)
{
	struct world_call big = { .code = 3, .size = WORLD_MAP_SIZE + 8 };
	struct binder_transaction_data tr;
	const struct host_txn_failure *f;
	struct pair p;

	pair_begin(&p);
	sim_forget_failures();
	CHECK(pair_call(&p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_reply(p.s, &big);
	world_poll_read(p.s);
	world_run(&p.w);
	f = notice(BR_FAILED_REPLY, p.s, WORLD_MAP_SIZE + 8);
	REQUIRE(f);
	CHECK(f->is_reply && f->code == 3);
	CHECK(f->to_pid == p.client->sim->pid && f->to_tid == p.c->tid);
	sim_forget_failures();
	pair_reply(&p, "without a call");
	f = notice(BR_FAILED_REPLY, p.s, sizeof("without a call"));
	REQUIRE(f);
	CHECK(f->is_reply && !f->to_pid);
	CHECK(pair_end(&p));
}

TEST(send_failure_notice_of_a_reply_to_a_dead_caller)
{
	struct binder_transaction_data tr;
	const struct host_txn_failure *f;
	struct pair p;

	pair_begin(&p);
	CHECK(pair_call(&p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	world_kill(p.client);
	sim_forget_failures();
	pair_reply(&p, "late");
	f = notice(BR_DEAD_REPLY, p.s, 5);
	REQUIRE(f);
	CHECK(f->is_reply && !f->to_pid && !f->to_tid);
	CHECK(pair_end(&p));
}

TEST(send_failure_notice_of_calls_to_a_frozen_process)
{
	const struct host_txn_failure *f;
	struct pair p;

	pair_begin(&p);
	CHECK(freeze(&p) == 0);
	sim_forget_failures();
	CHECK(pair_call(&p, 0, 1, 0, "x") == 0);
	f = notice(BR_FROZEN_REPLY, p.c, 2);
	REQUIRE(f);
	CHECK(f->to_pid == p.server->sim->pid && !f->is_reply);
	CHECK(pair_call(&p, 0, 9, TF_ONE_WAY, "xy") == 0);
	f = notice(BR_TRANSACTION_PENDING_FROZEN, p.c, 3);
	REQUIRE(f);
	CHECK(f->to_pid == p.server->sim->pid && f->flags == TF_ONE_WAY && f->code == 9);
	CHECK(pair_end(&p));
}

TEST(send_failure_notice_of_spam)
{
	struct world_call call = { .code = 4, .flags = TF_ONE_WAY, .size = 4096 };
	const struct host_txn_failure *f;
	struct pair p;
	u32 yes = 1, i;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &yes) == 0);
	sim_forget_failures();
	for (i = 0; i < 32 && !sim_last_failure(); i++) {
		world_call(p.c, &call);
		world_poll_read(p.c);
	}
	f = notice(BR_ONEWAY_SPAM_SUSPECT, p.c, 4096);
	REQUIRE(f);
	CHECK(f->to_pid == p.server->sim->pid && f->code == 4);
	CHECK(pair_end(&p));
}
