// SPDX-License-Identifier: GPL-2.0
/* Calls through the whole engine; the conformance suite has the other rules. */
#include "calls/transaction.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "pair.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- transaction.c: a call and its reply ----------------------------------------------------- */

PAIR_TEST(call_and_reply)
{
	struct binder_transaction_data tr;

	CHECK(p->s->parked);
	CHECK(pair_call(p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	REQUIRE(pair_receive(p, &tr));
	CHECK(tr.code == 7 && tr.sender_pid == p->client->sim->pid && tr.sender_euid == 1000);
	CHECK(tr.target.ptr == 0 && tr.cookie == 0 && tr.offsets_size == 0);
	CHECK(pair_has_data(p->s, &tr, "ping"));
	CHECK(p->c->parked);
	world_free_buffer(p->s, &tr);
	pair_reply(p, "pong");
	CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p->c, BR_REPLY, &tr));
	CHECK(pair_has_data(p->c, &tr, "pong"));
	CHECK(tr.sender_pid == 0);
	world_free_buffer(p->c, &tr);
	CHECK(world_write_read(p->c, false) == 0);
	CHECK(!world_next(p->c, NULL) && !world_next(p->s, NULL));
}

/* ---- security.c: contexts of senders, and calls that the policy refuses ---------------------- */

#define CONTEXT "u:r:client:s0"

TEST(security_context_of_the_sender)
{
	struct binder_transaction_data_secctx tr;
	char got[sizeof(CONTEXT)];
	struct pair p;

	pair_make(&p);
	p.client->sim->secctx = CONTEXT;
	pair_start(&p, FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	CHECK(pair_call(&p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION_SEC_CTX, &tr));
	CHECK(pair_has_data(p.s, &tr.transaction_data, "x"));
	REQUIRE(!sim_read(p.server->sim, got, tr.secctx, sizeof(got)));
	CHECK(!memcmp(got, CONTEXT, sizeof(got)));
	CHECK(pair_end(&p));
	CHECK(!sim_stats.secctxs);
}

PAIR_TEST(security_policy_refuses_a_call)
{
	sim_arm(SIM_MAY_TRANSACT, 1);
	CHECK(pair_call(p, 0, 1, 0, "x") == 0);
	CHECK(pair_expect(p->c, BR_FAILED_REPLY, NULL));
	sim_arm(SIM_ANY, 0);
	CHECK(pair_call(p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
}

/* ---- translate.c: what the log says of objects that are refused ------------------------------ */

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

/* ---- transaction.h: to which open memory is charged, and what happens at its limit ----------- */

/* Sends an object, and has the client read all that comes of it. */
static u32 send_object(struct pair *p, u64 ptr)
{
	u32 handle = pair_send_object(p, ptr, 1);

	world_poll_read(p->c);
	while (world_next(p->c, NULL))
		;
	return handle;
}

PAIR_TEST(charge_nodes_to_the_sender_and_references_to_the_receiver)
{
	size_t client, server;

	REQUIRE(send_object(p, 0x10)); /* allocates what is kept for later calls */
	client = p->client->sim->charged;
	server = p->server->sim->charged;
	REQUIRE(send_object(p, 0x20));
	/* It does not free the buffer of the reply. */
	CHECK(p->client->sim->charged ==
	      client + sizeof(struct binder_node) + sizeof(struct binder_buffer));
	CHECK(p->server->sim->charged == server + sizeof(struct binder_ref));
	world_kill(p->server);
	CHECK(p->server->sim->charged == 0);
}

PAIR_TEST(charge_of_a_call_to_the_sender)
{
	size_t queued;

	CHECK(pair_call(p, 0, 1, TF_ONE_WAY, "x") == 0);
	CHECK(pair_call(p, 0, 2, TF_ONE_WAY, "y") == 0);
	world_poll_read(p->c);
	queued = p->client->sim->charged;
	world_kill(p->server);
	CHECK(p->client->sim->charged == queued - 2 * sizeof(struct binder_transaction));
}

static void send_in_vain(struct pair *p)
{
	struct flat_binder_object object = pair_binder(0x30, 1, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), 0);
	struct binder_extended_error ee;

	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(pair_expect(p->c, BR_FAILED_REPLY, NULL));
	CHECK(world_ioctl(p->c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_FAILED_REPLY && ee.param == -ENOMEM);
}

/* The next call succeeds once there is memory again. */
static void check_limit(struct pair *p, struct world_proc *poor)
{
	size_t before;

	REQUIRE(send_object(p, 0x10));
	before = poor->sim->charged;
	poor->sim->max_charged = before + sizeof(u64);
	send_in_vain(p);
	CHECK(poor->sim->charged <= before);
	poor->sim->max_charged = 0;
	CHECK(send_object(p, 0x30) == 2);
	CHECK(pair_end(p));
}

TEST(charge_limit_of_the_sender)
{
	struct pair p;

	pair_begin(&p);
	check_limit(&p, p.client);
}

TEST(charge_limit_of_the_receiver)
{
	struct pair p;

	pair_begin(&p);
	check_limit(&p, p.server);
}

/* ---- file_transfer.c: files, passed and refused ---------------------------------------------- */

static struct binder_fd_object fd_object(u32 fd)
{
	return (struct binder_fd_object){ .hdr.type = BINDER_TYPE_FD, .fd = fd };
}

/* A pair whose context manager accepts files. */
static void begin_with_files(struct pair *p)
{
	pair_make(p);
	pair_start(p, FLAT_BINDER_FLAG_ACCEPTS_FDS);
}

#define FILES_TEST(name) TEST_WITH(name, struct pair, p, begin_with_files, CHECK_PAIR_END)

/* The client opens a file and sends it. */
static u32 send_file(struct pair *p)
{
	u32 fd = sim_file_open(p->client->sim);
	const struct binder_fd_object object = fd_object(fd);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ACCEPT_FDS);

	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	return fd;
}

FILES_TEST(files_are_passed_in_the_next_call)
{
	struct binder_transaction_data tr;
	struct binder_fd_object object;
	u32 fd;

	p->server->sim->fds_later = true;
	fd = send_file(p);
	REQUIRE(pair_expect(p->s, BR_TRANSACTION, &tr));
	REQUIRE(!sim_read(p->server->sim, &object, tr.data.ptr.buffer, sizeof(object)));
	CHECK(object.hdr.type == BINDER_TYPE_FD);
	CHECK(sim_file_id(p->server->sim, object.fd) == sim_file_id(p->client->sim, fd));
	world_free_buffer(p->s, &tr);
	pair_reply(p, "");
	CHECK(sim_file_id(p->server->sim, object.fd)); /* the receiver closes it */
}

/*
 * An error that the caller has not read stops its commands. Its read delivers the error and finds a
 * reply with a file, so that the call is made again, which must not execute the commands.
 */
FILES_TEST(files_that_are_installed_later_leave_the_commands_behind_an_error)
{
	const struct world_call bad = { .handle = 55 };
	const struct world_call call = { .flags = TF_ACCEPT_FDS };
	struct binder_fd_object object;
	struct binder_transaction_data tr;
	struct world_call reply = pair_object_call(&object, sizeof(object), 0);

	p->client->sim->fds_later = true;
	world_call(p->c, &call);
	world_call(p->c, &bad);
	CHECK(world_write_read(p->c, false) == 0);
	CHECK(pair_receive(p, &tr));
	object = fd_object(sim_file_open(p->server->sim));
	world_free_buffer(p->s, &tr);
	world_reply(p->s, &reply);
	CHECK(world_write_read(p->s, false) == 0);

	world_call(p->c, &bad);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(p->c->arg.bwr.write_consumed == 0);
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_FAILED_REPLY, NULL));
	CHECK(pair_expect(p->c, BR_REPLY, NULL));
	CHECK(p->c->in_len == 0);
}

FILES_TEST(files_for_a_dying_process)
{
	p->server->sim->dying = true;
	send_file(p);
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_DEAD_REPLY, NULL));
}

/* The test host fails with -EBUSY here. */
FILES_TEST(files_that_the_host_cannot_take_in_time_fail_as_for_lack_of_memory)
{
	struct binder_fd_object object = fd_object(0);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ACCEPT_FDS);
	struct binder_extended_error ee = { 0 };

	sim_file_open(p->client->sim);
	world_call(p->c, &call);
	sim_arm(SIM_FILE_GET, 1);
	CHECK(world_write_read(p->c, true) == 0);
	sim_arm(SIM_ANY, 0);
	CHECK(pair_expect(p->c, BR_FAILED_REPLY, NULL));
	CHECK(world_ioctl(p->c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_FAILED_REPLY && ee.param == -ENOMEM);
}

/* ---- send.c: failure notices, which go to the host ------------------------------------------- */

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

PAIR_TEST(send_success_without_failure_notice)
{
	struct binder_transaction_data tr;

	sim_forget_failures();
	CHECK(pair_call(p, 0, 7, TF_ACCEPT_FDS, "ping") == BINDER_WOULD_BLOCK);
	REQUIRE(pair_receive(p, &tr));
	pair_reply(p, "pong");
	REQUIRE(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p->c, BR_REPLY, &tr));
	pair_call(p, 0, 8, TF_ONE_WAY, "no reply");
	CHECK(!sim_last_failure());
}

PAIR_TEST(send_failure_notice_of_a_call_without_target)
{
	const struct host_txn_failure *f;

	sim_forget_failures();
	CHECK(pair_call(p, 99, 5, TF_ACCEPT_FDS, "abc") == 0);
	f = notice(BR_FAILED_REPLY, p->c, 4);
	REQUIRE(f);
	CHECK(!strcmp(f->context, p->w.context->name));
	CHECK(!f->to_pid && !f->to_tid && !f->is_reply);
	CHECK(f->code == 5 && f->flags == TF_ACCEPT_FDS);
	world_kill(p->server);
	CHECK(pair_call(p, 0, 6, TF_ONE_WAY, "abcd") == 0);
	f = notice(BR_DEAD_REPLY, p->c, 5);
	REQUIRE(f);
	CHECK(!f->to_pid && f->code == 6 && f->flags == TF_ONE_WAY && !f->node);
}

PAIR_TEST(send_failure_notice_of_a_call_that_does_not_fit)
{
	struct world_call big = { .code = 3, .size = WORLD_MAP_SIZE + 8 };
	const struct host_txn_failure *f;

	sim_forget_failures();
	world_call(p->c, &big);
	world_write_read(p->c, true);
	f = notice(BR_FAILED_REPLY, p->c, WORLD_MAP_SIZE + 8);
	REQUIRE(f);
	CHECK(f->to_pid == p->server->sim->pid && !f->to_tid && f->code == 3);
}

PAIR_TEST(send_failure_notice_of_a_reply)
{
	struct world_call big = { .code = 3, .size = WORLD_MAP_SIZE + 8 };
	struct binder_transaction_data tr;
	const struct host_txn_failure *f;

	sim_forget_failures();
	CHECK(pair_call(p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	REQUIRE(pair_receive(p, &tr));
	world_reply(p->s, &big);
	world_poll_read(p->s);
	world_run(&p->w);
	f = notice(BR_FAILED_REPLY, p->s, WORLD_MAP_SIZE + 8);
	REQUIRE(f);
	CHECK(f->is_reply && f->code == 3);
	CHECK(f->to_pid == p->client->sim->pid && f->to_tid == p->c->tid);
	sim_forget_failures();
	pair_reply(p, "without a call");
	f = notice(BR_FAILED_REPLY, p->s, sizeof("without a call"));
	REQUIRE(f);
	CHECK(f->is_reply && !f->to_pid);
}

PAIR_TEST(send_failure_notice_of_a_reply_to_a_dead_caller)
{
	struct binder_transaction_data tr;
	const struct host_txn_failure *f;

	CHECK(pair_call(p, 0, 7, 0, "ping") == BINDER_WOULD_BLOCK);
	REQUIRE(pair_receive(p, &tr));
	world_kill(p->client);
	sim_forget_failures();
	pair_reply(p, "late");
	f = notice(BR_DEAD_REPLY, p->s, 5);
	REQUIRE(f);
	CHECK(f->is_reply && !f->to_pid && !f->to_tid);
}

PAIR_TEST(send_failure_notice_of_calls_to_a_frozen_process)
{
	const struct host_txn_failure *f;

	CHECK(freeze(p) == 0);
	sim_forget_failures();
	CHECK(pair_call(p, 0, 1, 0, "x") == 0);
	f = notice(BR_FROZEN_REPLY, p->c, 2);
	REQUIRE(f);
	CHECK(f->to_pid == p->server->sim->pid && !f->is_reply);
	CHECK(pair_call(p, 0, 9, TF_ONE_WAY, "xy") == 0);
	f = notice(BR_TRANSACTION_PENDING_FROZEN, p->c, 3);
	REQUIRE(f);
	CHECK(f->to_pid == p->server->sim->pid && f->flags == TF_ONE_WAY && f->code == 9);
}

PAIR_TEST(send_failure_notice_of_spam)
{
	struct world_call call = { .code = 4, .flags = TF_ONE_WAY, .size = 4096 };
	const struct host_txn_failure *f;
	u32 yes = 1, i;

	CHECK(world_ioctl(p->c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &yes) == 0);
	sim_forget_failures();
	for (i = 0; i < 32 && !sim_last_failure(); i++) {
		world_call(p->c, &call);
		world_poll_read(p->c);
	}
	f = notice(BR_ONEWAY_SPAM_SUSPECT, p->c, 4096);
	REQUIRE(f);
	CHECK(f->to_pid == p->server->sim->pid && f->code == 4);
}
