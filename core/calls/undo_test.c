// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of several steps, of the whole engine, are undone when one step fails. Each
 * operation of the table is run with its first host call failing, then with its second and
 * so on until it succeeds. After each failure, when both processes have read all returns,
 * the report of the whole state and all counters are the same as before.
 */
#include "reports/report_stats.h"
#include "pair.h"
#include "reports.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

struct undo_world {
	struct pair p;
	struct world_proc *other; /* a third process */
	struct world_thread *o;
	u32 handle; /* in the server, of an object of the client */
	u32 fds[3]; /* open files of the client */
};

/* ---- the state of the engine ------------------------------------------------------ */

struct state {
	struct host_out text;
	s32 live[STAT_COUNT];
	u32 files, secctxs;
};

static void get_state(struct state *state)
{
	struct binder_stats stats;
	u32 i;

	*state = (struct state){ .files = sim_stats.files, .secctxs = sim_stats.secctxs };
	test_report(&state->text, REPORT_STATE, 0);
	binder_stats_add_up(&stats);
	for (i = 0; i < STAT_COUNT; i++)
		state->live[i] = host_atomic_read(&stats.created[i]) -
				 host_atomic_read(&stats.deleted[i]);
}

static bool same(const struct state *a, const struct state *b)
{
	bool same = a->text.len == b->text.len && !memcmp(a->text.text, b->text.text, a->text.len);

	if (!same)
		printf("  before:\n%.*s\n  after:\n%.*s\n", (int)a->text.len, a->text.text,
		       (int)b->text.len, b->text.text);
	return same && !memcmp(a->live, b->live, sizeof(a->live)) && a->files == b->files &&
	       a->secctxs == b->secctxs;
}

/* ---- operations ---------------------------------------------------------------------- */

static struct world_call plain(void)
{
	return (struct world_call){ .flags = TF_ACCEPT_FDS, .data = "plain", .size = 6 };
}

/* One object. */
struct one {
	union {
		struct flat_binder_object flat;
		struct binder_fd_object fd;
	};
};

/* Appends a call or reply with one object. */
static void send_one(struct world_thread *t, bool reply, const struct one *o, size_t size)
{
	struct world_call call = pair_object_call(o, size, TF_ACCEPT_FDS);

	if (reply)
		world_reply(t, &call);
	else
		world_call(t, &call);
}

static void send_flat(struct world_thread *t, bool reply, u32 type, u64 what, u64 cookie)
{
	struct one o = { .flat = { .hdr.type = type, .binder = what, .cookie = cookie } };

	send_one(t, reply, &o, sizeof(o.flat));
}

static void send_fd(struct world_thread *t, bool reply, u32 fd)
{
	struct one o = { .fd = { .hdr.type = BINDER_TYPE_FD, .fd = fd } };

	send_one(t, reply, &o, sizeof(o.fd));
}

/* A buffer, a second one that is its child, and an array of two files in the first. */
static void send_buffers(struct world_thread *t, bool reply, const u32 *fds)
{
	struct {
		struct binder_buffer_object outer, inner;
		struct binder_fd_array_object fda;
	} o = { .outer = { .hdr.type = BINDER_TYPE_PTR } };
	const u64 offsets[] = { 0, sizeof(o.outer), 2 * sizeof(o.outer) };
	u64 outer[3] = { 0 };
	struct world_call call = {
		.flags = TF_ACCEPT_FDS, .data = &o, .size = sizeof(o),
		.offsets = offsets, .nr_offsets = 3, .buffers_size = 40,
	};

	memcpy(&outer[2], fds, 2 * sizeof(*fds));
	o.outer.buffer = world_memory(t->proc, outer, sizeof(outer));
	o.outer.length = sizeof(outer);
	o.inner = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR, .flags = BINDER_BUFFER_FLAG_HAS_PARENT,
		.buffer = world_memory(t->proc, "inner", 6), .length = 6, .parent_offset = 8,
	};
	o.fda = (struct binder_fd_array_object){
		.hdr.type = BINDER_TYPE_FDA, .num_fds = 2, .parent_offset = 16,
	};
	if (reply)
		world_reply(t, &call);
	else
		world_call(t, &call);
}

static void call_plain(struct undo_world *w)
{
	struct world_call call = plain();

	world_call(w->p.c, &call);
	world_write_read(w->p.c, false);
}

static void call_oneway(struct undo_world *w)
{
	struct world_call call = plain();

	call.flags = TF_ONE_WAY | TF_CLEAR_BUF;
	world_call(w->p.c, &call);
	world_write_read(w->p.c, false);
}

static void call_binder(struct undo_world *w)
{
	send_flat(w->p.c, false, BINDER_TYPE_BINDER, 0x7000, 0x7001);
	world_write_read(w->p.c, false);
}

static void call_weak_binder(struct undo_world *w)
{
	send_flat(w->p.c, false, BINDER_TYPE_WEAK_BINDER, 0x7000, 0x7001);
	world_write_read(w->p.c, false);
}

static void call_handle_back(struct undo_world *w)
{
	send_flat(w->p.c, false, BINDER_TYPE_HANDLE, 0, 0);
	world_write_read(w->p.c, false);
}

static void call_fd(struct undo_world *w)
{
	send_fd(w->p.c, false, w->fds[0]);
	world_write_read(w->p.c, false);
}

static void call_buffers(struct undo_world *w)
{
	send_buffers(w->p.c, false, w->fds);
	world_write_read(w->p.c, false);
}

static void reply_plain(struct undo_world *w)
{
	struct world_call reply = plain();

	world_reply(w->p.s, &reply);
	world_write_read(w->p.s, false);
}

static void reply_binder(struct undo_world *w)
{
	send_flat(w->p.s, true, BINDER_TYPE_BINDER, 0x8000, 0x8001);
	world_write_read(w->p.s, false);
}

static void reply_handle_back(struct undo_world *w)
{
	send_flat(w->p.s, true, BINDER_TYPE_HANDLE, w->handle, 0);
	world_write_read(w->p.s, false);
}

static void reply_fd(struct undo_world *w)
{
	send_fd(w->p.s, true, 0);
	world_write_read(w->p.s, false);
}

static void reply_buffers(struct undo_world *w)
{
	send_buffers(w->p.s, true, (const u32[]){ 0, 0 });
	world_write_read(w->p.s, false);
}

static void acquire(struct undo_world *w)
{
	world_command(w->o, BC_ACQUIRE, &(u32){ 0 });
	world_write_read(w->o, false);
}

static void increfs(struct undo_world *w)
{
	world_command(w->o, BC_INCREFS, &(u32){ 0 });
	world_write_read(w->o, false);
}

static void request_death(struct undo_world *w)
{
	world_command(w->p.c, BC_REQUEST_DEATH_NOTIFICATION,
		      &(struct binder_handle_cookie){ .cookie = 5 });
	world_write_read(w->p.c, false);
}

static void request_freeze(struct undo_world *w)
{
	world_command(w->p.c, BC_REQUEST_FREEZE_NOTIFICATION,
		      &(struct binder_handle_cookie){ .cookie = 6 });
	world_write_read(w->p.c, false);
	w->p.c->out_len = 0;
}

static void open_device(struct undo_world *w)
{
	struct binder_proc *proc = NULL;

	if (!binder_open(w->p.w.context, w->other->sim, &proc))
		binder_release(proc);
}

static void new_thread(struct undo_world *w)
{
	struct world_thread *t = w->other->threads[1];

	world_write_read(t, false);
}

static void become_manager(struct undo_world *w)
{
	world_become_manager(w->p.s);
}

/* ---- the table ------------------------------------------------------------------------- */

static const struct operation {
	const char *name;
	void (*run)(struct undo_world *w);
	bool reply;  /* needs a call that the server serves */
	bool lasts;  /* its effect remains when all returns are read and buffers freed */
	u32 least;   /* number of host calls that can fail, at least */
	enum { WARM, COLD, NO_MANAGER } at; /* COLD: before any transaction */
} operations[] = {
	{ "a call", call_plain, false, false, 2 },
	{ "a one-way call", call_oneway, false, false, 2 },
	{ "a call with an object", call_binder, false, false, 4 },
	{ "a call with a weak object", call_weak_binder, false, false, 4 },
	{ "a call with a handle of the receiver's object", call_handle_back, false, false, 3 },
	{ "a call with a file", call_fd, false, false, 4 },
	{ "a call with buffers and files in them", call_buffers, false, false, 6 },
	{ "a reply", reply_plain, true, false, 1 },
	{ "a reply with an object", reply_binder, true, false, 4 },
	{ "a reply with a handle of the receiver's object", reply_handle_back, true, false, 3 },
	{ "a reply with a file", reply_fd, true, false, 3 },
	{ "a reply with buffers and files in them", reply_buffers, true, false, 4 },
	{ "a strong count of the manager", acquire, false, true, 1 },
	{ "a weak count of the manager", increfs, false, true, 1 },
	{ "a request for a death notification", request_death, false, true, 1 },
	{ "a request for freeze notifications", request_freeze, false, true, 1 },
	{ "an open", open_device, false, false, 1 },
	{ "a new thread", new_thread, false, true, 1 },
	{ "the first call, which looks up the mapping", call_plain, false, false, 4, COLD },
	{ "the first call, with an object", call_binder, false, false, 6, COLD },
	{ "becoming context manager", become_manager, false, true, 1, NO_MANAGER },
};

/* ---- the sweep ---------------------------------------------------------------------------- */

/* Reads all returns of @t, replies to calls, and closes the files that were received. */
static void drain(struct undo_world *w, struct world_thread *t)
{
	struct world_call reply = plain();
	u8 arg[80];
	u32 br;

	do {
		if (!t->parked)
			world_poll_read(t);
		world_run(&w->p.w);
		br = world_next(t, arg);
		if (br == BR_TRANSACTION || br == BR_TRANSACTION_SEC_CTX || br == BR_REPLY) {
			struct binder_transaction_data *tr = (void *)arg;
			u32 fd = 3;

			world_free_buffer(t, tr);
			if (br != BR_REPLY && !(tr->flags & TF_ONE_WAY))
				world_reply(t, &reply);
			world_write_read(t, false);
			for (; fd < SIM_FDS; fd++)
				if (sim_file_id(t->proc->sim, fd))
					sim_file_close(t->proc->sim, fd);
		} else if (br == BR_INCREFS || br == BR_ACQUIRE) {
			world_command(t, br == BR_ACQUIRE ? BC_ACQUIRE_DONE : BC_INCREFS_DONE,
				      arg);
		}
	} while (br || t->out_len);
}

static void drain_all(struct undo_world *w)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		drain(w, w->p.s);
		drain(w, w->p.c);
	}
}

/* The server reads a call of the client and does not reply. */
static void serve(struct undo_world *w)
{
	struct world_call call = plain();
	u8 arg[80];
	u32 br;

	world_call(w->p.c, &call);
	world_write_read(w->p.c, false);
	world_poll_read(w->p.s);
	while ((br = world_next(w->p.s, arg)))
		if (br == BR_TRANSACTION || br == BR_TRANSACTION_SEC_CTX)
			world_free_buffer(w->p.s, (void *)arg);
	world_write_read(w->p.s, false);
}

static void begin(struct undo_world *w, int at)
{
	struct flat_binder_object manager = pair_binder(
		0, 0, FLAT_BINDER_FLAG_ACCEPTS_FDS | FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	u32 i;

	*w = (struct undo_world){ .handle = 0 };
	world_begin(&w->p.w);
	w->p.server = world_proc(&w->p.w);
	w->p.client = world_proc(&w->p.w);
	w->other = world_proc(&w->p.w);
	w->p.client->sim->secctx = "u:r:client:s0";
	w->p.s = world_thread(w->p.server);
	w->p.c = world_thread(w->p.client);
	w->o = world_thread(w->other);
	world_thread(w->other);
	for (i = 0; i < 3; i++) {
		sim_file_open(w->p.server->sim);
		w->fds[i] = sim_file_open(w->p.client->sim);
	}
	if (at != NO_MANAGER)
		world_ioctl(w->p.s, BINDER_SET_CONTEXT_MGR_EXT, &manager);
	world_command(w->p.s, BC_ENTER_LOOPER, NULL);
	world_command(w->p.c, BC_ACQUIRE, &(u32){ 0 });
	world_write_read(w->p.s, false);
	world_write_read(w->p.c, false);
	world_write_read(w->o, false);
	if (at != WARM)
		return;
	/* The server gets a handle to an object of the client; all caches are filled. */
	send_flat(w->p.c, false, BINDER_TYPE_BINDER, 0x9000, 0x9001);
	world_write_read(w->p.c, false);
	world_poll_read(w->p.s);
	w->handle = 1;
	world_command(w->p.s, BC_ACQUIRE, &w->handle);
	world_write_read(w->p.s, false);
	drain_all(w);
	call_buffers(w);
	drain_all(w);
}

/* Runs @op with its @nth host call failing; false if there are not so many. */
static bool attempt(const struct operation *op, u64 nth)
{
	struct state before, after;
	struct undo_world w;
	bool failed, lasts;

	begin(&w, op->at);
	get_state(&before);
	if (op->reply)
		serve(&w);
	sim_arm(SIM_ANY, nth);
	op->run(&w);
	failed = sim_stats.failed;
	/* When reading a whole window of commands fails, the engine reads single ones. */
	lasts = op->lasts && (!failed || sim_stats.failed_op == SIM_READ_CALLER);
	sim_arm(SIM_ANY, 0);
	drain_all(&w);
	get_state(&after);
	if (!lasts)
		CHECK(same(&before, &after));
	free(before.text.text);
	free(after.text.text);
	CHECK(pair_end(&w.p));
	return failed;
}

static void undo_all(void)
{
	size_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		u64 nth = 1;

		while (attempt(&operations[i], nth) && !unit_failed() && nth < 1000)
			nth++;
		if (nth <= operations[i].least || unit_failed()) {
			printf("  %s, host call %u\n", operations[i].name, (u32)nth);
			CHECK(nth > operations[i].least);
			return;
		}
	}
}

TEST(undo_of_every_operation)
{
	undo_all();
}

TEST(undo_of_every_operation_while_its_data_is_traced)
{
	sim_data = (struct sim_data){ 0 };
	sim_data_wanted = true;
	undo_all();
	sim_data_wanted = false;
	CHECK(sim_data.count > 100);
}
