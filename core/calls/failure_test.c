// SPDX-License-Identifier: GPL-2.0
/*
 * Failures of host operations, in the whole engine: nothing leaks, nothing crashes, and
 * other processes still communicate. Each scenario runs once without a failure, and then
 * once for each call of a host operation in it that can fail, with that one failing.
 */
#include "pair.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

/* An object of each type. */
struct everything {
	struct flat_binder_object own, handle;
	struct binder_fd_object fd;
	struct binder_buffer_object outer, inner;
	struct binder_fd_array_object fda;
};

static const u64 offsets[] = {
	offsetof(struct everything, own),   offsetof(struct everything, handle),
	offsetof(struct everything, fd),    offsetof(struct everything, outer),
	offsetof(struct everything, inner), offsetof(struct everything, fda),
};

static struct everything everything(struct world_proc *from, u32 handle)
{
	u32 fds[2] = { sim_file_open(from->sim), sim_file_open(from->sim) };
	u64 outer[3] = { 0 };
	struct everything e = {
		.own = pair_binder(0x1000, 0x2000, 0),
		.handle = { .hdr.type = BINDER_TYPE_HANDLE, .handle = handle },
		.fd = { .hdr.type = BINDER_TYPE_FD, .fd = sim_file_open(from->sim) },
	};

	memcpy(&outer[2], fds, sizeof(fds));
	e.outer = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR,
		.buffer = world_memory(from, outer, sizeof(outer)),
		.length = sizeof(outer),
	};
	e.inner = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR,
		.flags = BINDER_BUFFER_FLAG_HAS_PARENT,
		.buffer = world_memory(from, "inner", 6),
		.length = 6,
		.parent = 3,
		.parent_offset = 8,
	};
	e.fda = (struct binder_fd_array_object){
		.hdr.type = BINDER_TYPE_FDA,
		.num_fds = 2,
		.parent = 3,
		.parent_offset = 16,
	};
	return e;
}

static struct world_call call_with(const struct everything *e, u32 flags)
{
	return (struct world_call){
		.flags = flags,
		.data = e,
		.size = sizeof(*e),
		.offsets = offsets,
		.nr_offsets = sizeof(offsets) / sizeof(offsets[0]),
		.buffers_size = 40,
	};
}

/* Reads all returns of @t, frees all buffers, replies to calls and acknowledges notices. */
static void handle_returns(struct pair *p, struct world_thread *t,
			   const struct world_call *reply)
{
	u8 arg[80];
	u32 br;

	while (!t->parked && (br = world_next(t, arg))) {
		struct binder_transaction_data *tr = (void *)arg;
		bool call = br == BR_TRANSACTION || br == BR_TRANSACTION_SEC_CTX;

		if (br == BR_REPLY || call)
			world_free_buffer(t, tr);
		if (call && !(tr->flags & TF_ONE_WAY))
			world_reply(t, reply);
		if (sim_acknowledgement(br))
			world_command(t, sim_acknowledgement(br), arg);
		world_poll_read(t);
		world_run(&p->w);
	}
}

/* A pair whose context manager accepts files and requests security contexts. */
static void begin(struct pair *p, bool later)
{
	pair_make(p);
	p->client->sim->secctx = "u:r:client:s0";
	p->server->sim->fds_later = later;
	p->client->sim->fds_later = later;
	pair_start(p, FLAT_BINDER_FLAG_ACCEPTS_FDS | FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	world_command(p->c, BC_ACQUIRE, &(u32){ 0 });
	world_write_read(p->c, false);
}

/* A call and its reply, both with an object of each type. */
static void run_call(struct pair *p, u32 flags)
{
	struct everything asked = everything(p->client, 0);
	struct everything answered = everything(p->server, 1);
	struct world_call call = call_with(&asked, flags);
	struct world_call reply = call_with(&answered, 0);

	world_call(p->c, &call);
	world_write_read(p->c, !(flags & TF_ONE_WAY));
	world_run(&p->w);
	handle_returns(p, p->s, &reply);
	pair_serve(p);
	world_run(&p->w);
	handle_returns(p, p->c, &reply);
	if (!p->c->parked)
		world_poll_read(p->c);
	handle_returns(p, p->c, &reply);
	world_run(&p->w);
}

static void scenario_call(struct pair *p)
{
	run_call(p, TF_ACCEPT_FDS);
}

static void scenario_oneway(struct pair *p)
{
	run_call(p, TF_ONE_WAY | TF_CLEAR_BUF);
	run_call(p, TF_ONE_WAY);
}

/* The server dies while it serves a call whose buffer it has not freed. */
static void scenario_death(struct pair *p)
{
	struct everything asked = everything(p->client, 0);
	struct world_call call = call_with(&asked, TF_ACCEPT_FDS);
	struct binder_handle_cookie notice = { .handle = 0, .cookie = 1 };
	struct world_call nothing = { 0 };

	world_command(p->c, BC_ENTER_LOOPER, NULL);
	world_command(p->c, BC_ACQUIRE, &notice.handle);
	world_command(p->c, BC_REQUEST_DEATH_NOTIFICATION, &notice);
	world_command(p->c, BC_REQUEST_FREEZE_NOTIFICATION, &notice);
	world_call(p->c, &call);
	world_write_read(p->c, true);
	world_run(&p->w);
	world_kill(p->server);
	world_run(&p->w);
	handle_returns(p, p->c, &nothing);
}

/* The sender dies when only some of its transactions are delivered. */
static void scenario_sender_dies(struct pair *p)
{
	struct everything asked = everything(p->client, 0);
	struct world_call call = call_with(&asked, TF_ONE_WAY);
	struct world_call nothing = { 0 };

	world_call(p->c, &call);
	world_write_read(p->c, false);
	call.flags = TF_ACCEPT_FDS;
	world_call(p->c, &call);
	world_write_read(p->c, true);
	world_run(&p->w);
	world_kill(p->client);
	world_run(&p->w);
	handle_returns(p, p->s, &nothing);
}

static void scenario_from_the_start(struct pair *p)
{
	struct world_call nothing = { 0 };

	pair_call(p, 0, 1, 0, "x");
	world_run(&p->w);
	handle_returns(p, p->s, &nothing);
	handle_returns(p, p->c, &nothing);
}

/* After the scenario a third process calls the server; returns whether it gets a reply. */
static bool third_process_is_served(struct pair *p)
{
	struct world_call nothing = { 0 };
	struct world_thread *s = world_thread(p->server);
	struct world_thread *c = world_thread(world_proc(&p->w));
	u32 br;

	/* The first call of a thread returns at once. */
	world_command(s, BC_ENTER_LOOPER, NULL);
	world_write_read(s, false);
	world_write_read(c, false);
	world_call(c, &nothing);
	if (world_write_read(c, true) != BINDER_WOULD_BLOCK)
		return false;
	world_run(&p->w);
	/* The call may have been queued for the first thread. */
	handle_returns(p, p->s, &nothing);
	while (c->parked && world_write_read(s, true) == 0)
		handle_returns(p, s, &nothing);
	world_run(&p->w);
	while ((br = world_next(c, NULL)))
		if (br == BR_REPLY)
			return true;
	return false;
}

/* Runs @scenario with its @nth host call failing. Returns which that was, or SIM_OP_COUNT: none. */
static enum sim_op run(void (*scenario)(struct pair *p), bool later, u64 nth, bool from_start)
{
	struct pair p;
	enum sim_op op;
	bool failed;

	if (from_start)
		sim_arm(SIM_ANY, nth);
	begin(&p, later);
	if (!from_start)
		sim_arm(SIM_ANY, nth);
	scenario(&p);
	failed = sim_stats.failed;
	op = sim_stats.failed_op;
	sim_arm(SIM_ANY, 0);
	if (!from_start && p.server->proc)
		CHECK(third_process_is_served(&p));
	CHECK(pair_end(&p));
	CHECK(!sim_stats.allocs && !sim_stats.files && !sim_stats.secctxs);
	return failed ? op : SIM_OP_COUNT;
}

/* The server keeps the client's object, and while it serves a call it calls the client back. */
static void scenario_nested(struct pair *p)
{
	const struct world_call nothing = { 0 };
	struct everything asked = everything(p->client, 0);
	struct world_call call = call_with(&asked, TF_ACCEPT_FDS);
	u32 handle = 1;

	world_call(p->c, &call);
	world_write_read(p->c, true);
	world_run(&p->w);
	world_command(p->s, BC_ACQUIRE, &handle);
	handle_returns(p, p->s, &nothing);
	handle_returns(p, p->c, &nothing);
	pair_serve(p);
	world_call(p->c, &nothing);
	world_write_read(p->c, true);
	world_run(&p->w);
	while (world_next(p->s, NULL) != BR_TRANSACTION_SEC_CTX && !p->s->parked)
		world_write_read(p->s, true);
	world_call(p->s, &(struct world_call){ .handle = handle });
	world_write_read(p->s, true);
	world_run(&p->w);
	handle_returns(p, p->c, &nothing); /* replies to the call back */
	world_run(&p->w);
	CHECK(!p->s->parked);
	world_reply(p->s, &nothing);
	world_poll_read(p->s);
	world_run(&p->w);
	handle_returns(p, p->s, &nothing);
	handle_returns(p, p->c, &nothing);
	pair_serve(p);
}

/* ---- calls that are left behind ---------------------------------------------------- */

static struct binder_state left;

static void leave(void)
{
	CHECK(!world_write_state(&left));
}

/* What was written is damaged in several places: nothing leaks, whatever is settled. */
static void damage_left(struct world *w)
{
	u8 *copy = malloc(left.size);
	u64 dice = left.size;
	u32 i, nr;

	world_forget(w);
	for (i = 0; i < 20; i++) {
		memcpy(copy, left.bytes, left.size);
		for (nr = 1 + unit_random(&dice) % 3; nr; nr--)
			copy[unit_random(&dice) % left.size] = unit_random(&dice) % 16;
		world_try_state(copy, left.size);
	}
	free(copy);
}

/* Goes on with the state that was written, if it was: false, if not. */
static bool go_on_with_left(struct pair *p)
{
	bool was_left = left.bytes;

	sim_interpose(0, NULL);
	sim_interpose_close(0, NULL);
	if (was_left) {
		damage_left(&p->w);
		world_restore_state(&p->w, &left);
	}
	free(left.bytes);
	left = (struct binder_state){ .bytes = NULL };
	return was_left;
}

/*
 * Runs @scenario while the state is written in the midst of its @nth host call, and goes on with
 * that state, as if the process that ran the call were gone. False: there are not so many.
 */
static bool run_left(void (*scenario)(struct pair *p), bool later, u64 nth, bool closing)
{
	struct pair p;
	bool was_left;

	begin(&p, later);
	if (closing)
		sim_interpose_close(nth, leave);
	else
		sim_interpose(nth, leave);
	scenario(&p);
	was_left = go_on_with_left(&p);
	if (p.server->proc)
		CHECK(third_process_is_served(&p));
	CHECK(pair_end(&p));
	CHECK(!sim_stats.allocs && !sim_stats.files);
	return was_left;
}

static void sweep_left(void (*scenario)(struct pair *p), bool later, u64 least)
{
	u64 nth = 1;

	while (run_left(scenario, later, nth, !least) && !unit_failed() && nth < 10000)
		nth++;
	CHECK(nth > least && nth < 10000);
	if (unit_failed())
		printf("  when host call %u of the scenario was left behind\n", (u32)nth);
}

TEST(failure_of_a_process_that_hands_over)
{
	sweep_left(scenario_call, false, 40);
	sweep_left(scenario_call, true, 40);
	sweep_left(scenario_oneway, false, 40);
	sweep_left(scenario_death, false, 20);
	sweep_left(scenario_sender_dies, false, 30);
	sweep_left(scenario_sender_dies, true, 30);
	sweep_left(scenario_nested, false, 60);
	sweep_left(scenario_nested, true, 60);
	/* ... while the files of a buffer are closed, which is no call that can fail. */
	sweep_left(scenario_call, false, 0);
}

/* The receiver of a call ends in the midst of it: what the call gives it has no process. */
static struct world_proc *receiver;
static u64 later_by;

static void end_receiver(void)
{
	world_kill(receiver);
	sim_interpose(later_by, leave);
}

/* A one-way call with two objects of the sender. */
static void send_two_objects(struct pair *p, u32 type)
{
	struct flat_binder_object two[] = { pair_binder(0x70, 0x78, 0),
					    pair_binder(0x80, 0x88, 0) };
	const u64 places[] = { 0, sizeof(two[0]) };
	struct world_call call = { .flags = TF_ONE_WAY, .data = two, .size = sizeof(two),
				   .offsets = places, .nr_offsets = 2 };

	two[0].hdr.type = type;
	two[1].hdr.type = type;
	world_call(p->c, &call);
	world_write_read(p->c, false);
}

/* The receiver ends in host call @nth of the sender, which is left behind in a later one. */
static bool leave_objects(u32 type, u64 nth, u64 later)
{
	const struct world_call nothing = { 0 };
	struct pair p;
	bool was_left;

	begin(&p, false);
	receiver = p.server;
	later_by = later;
	sim_interpose(nth, end_receiver);
	send_two_objects(&p, type);
	was_left = go_on_with_left(&p);
	if (was_left)
		handle_returns(&p, p.c, &nothing);
	CHECK(pair_end(&p));
	CHECK(!sim_stats.allocs && !sim_stats.files);
	return was_left;
}

TEST(failure_of_a_process_that_hands_over_without_the_receiver)
{
	static const u32 types[] = { BINDER_TYPE_BINDER, BINDER_TYPE_WEAK_BINDER };
	u64 later, nth, nr = 0;
	u32 i;

	for (i = 0; i < 2; i++) {
		for (nth = 1; nth <= 20; nth++) {
			for (later = 1; leave_objects(types[i], nth, later); later++)
				nr++;
		}
	}
	CHECK(nr > 40);
}

/* Runs @scenario once for each host call in it that can fail; there must be more than @least. */
static void sweep(void (*scenario)(struct pair *p), bool later, u64 least, bool from_start)
{
	u64 nth = 0;
	enum sim_op op;

	CHECK(run(scenario, later, 0, from_start) == SIM_OP_COUNT);
	do {
		op = run(scenario, later, ++nth, from_start);
		if (unit_failed()) {
			printf("  when host call %u of the scenario failed (%s)\n", (u32)nth,
			       op == SIM_OP_COUNT ? "none" : sim_op_name(op));
			return;
		}
	} while (op != SIM_OP_COUNT && nth < 10000);
	CHECK(nth > least && nth < 10000);
}

TEST(failure_anywhere_in_a_call)
{
	sweep(scenario_call, false, 40, false);
}

TEST(failure_anywhere_in_a_call_with_late_files)
{
	sweep(scenario_call, true, 40, false);
}

TEST(failure_anywhere_in_oneway_calls)
{
	sweep(scenario_oneway, false, 40, false);
}

TEST(failure_anywhere_around_death)
{
	sweep(scenario_death, false, 20, false);
	sweep(scenario_death, true, 20, false);
}

TEST(failure_anywhere_when_the_sender_dies)
{
	sweep(scenario_sender_dies, false, 30, false);
	sweep(scenario_sender_dies, true, 30, false);
}

TEST(failure_anywhere_from_the_start)
{
	sweep(scenario_from_the_start, false, 20, true);
}

/* Without failures everything is delivered. */
TEST(failure_scenario_without_failures)
{
	struct pair p;
	u32 br, replies = 0, completes = 0;
	struct everything asked, got;
	struct world_call call;
	u8 arg[80];
	struct binder_transaction_data *tr = (void *)arg;

	begin(&p, false);
	asked = everything(p.client, 0);
	call = call_with(&asked, TF_ACCEPT_FDS);
	world_call(p.c, &call);
	world_write_read(p.c, true);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION_SEC_CTX, arg));
	REQUIRE(!sim_read(p.server->sim, &got, tr->data.ptr.buffer, sizeof(got)));
	CHECK(got.own.hdr.type == BINDER_TYPE_HANDLE && got.own.handle == 1);
	CHECK(got.handle.hdr.type == BINDER_TYPE_BINDER && got.handle.binder == 0);
	CHECK(sim_file_id(p.server->sim, got.fd.fd) == sim_file_id(p.client->sim, asked.fd.fd));
	CHECK(sim_file_id(p.server->sim, 2) != 0); /* one file and two of the array */
	world_free_buffer(p.s, tr);
	pair_reply(&p, "");
	CHECK(sim_file_id(p.server->sim, got.fd.fd) != 0);
	CHECK(sim_file_id(p.server->sim, 1) == 0 || sim_file_id(p.server->sim, 2) == 0);
	while ((br = world_next(p.c, arg))) {
		replies += br == BR_REPLY;
		completes += br == BR_TRANSACTION_COMPLETE;
	}
	CHECK(replies == 1 && completes == 1);
	CHECK(pair_end(&p));
}
