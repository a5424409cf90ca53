// SPDX-License-Identifier: GPL-2.0
/* The state of the engine is written and restored. Tests all files of this folder. */
#include "state/state_stream.h"

#include "pair.h"
#include "entities/world.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a world with something of everything ------------------------------------------------ */

struct scene {
	struct pair p;
	struct world_proc *third, *gone, *frozen;
	struct world_thread *t, *f, *freezer, *talker;
};

static void scene_notices(struct world_thread *t, u32 handle, u64 cookie)
{
	struct binder_handle_cookie arg = { .handle = handle, .cookie = cookie };

	world_command(t, BC_REQUEST_DEATH_NOTIFICATION, &arg);
	arg.cookie++;
	world_command(t, BC_REQUEST_FREEZE_NOTIFICATION, &arg);
}

/* A one-way call with an object of the sender and a file. */
static void send_objects(struct world_thread *t, u32 handle, u64 ptr)
{
	struct {
		struct flat_binder_object object;
		struct binder_fd_object fd;
	} data = { .object = pair_binder(ptr, ptr + 1, FLAT_BINDER_FLAG_ACCEPTS_FDS),
		   .fd = { .hdr.type = BINDER_TYPE_FD, .fd = sim_file_open(t->proc->sim) } };
	const u64 offsets[] = { 0, sizeof(data.object) };
	struct world_call call = { .handle = handle, .flags = TF_ONE_WAY | TF_UPDATE_TXN,
				   .data = &data, .size = sizeof(data), .offsets = offsets,
				   .nr_offsets = 2 };

	world_call(t, &call);
	world_poll_read(t);
}

/* An object of the thread goes to the server, which keeps it. Returns the handle. */
static u32 give_object(struct pair *p, struct world_thread *from, u64 ptr)
{
	struct world_thread *client = p->c;
	u32 handle;

	p->c = from;
	handle = pair_send_object(p, ptr, ptr + 8);
	p->c = client;
	return handle;
}

static void begin_pair(struct scene *s)
{
	u32 max_threads = 3;

	*s = (struct scene){ 0 };
	/* Processes and files have the same numbers in each run. */
	sim_last_proc = 1ull << 40;
	sim_last_file = 1u << 30;
	pair_make(&s->p);
	CHECK(!world_ioctl(s->p.s, BINDER_SET_MAX_THREADS, &max_threads));
	pair_start(&s->p, FLAT_BINDER_FLAG_ACCEPTS_FDS);
}

/* One process dies, another one is to be frozen while it serves a call. */
static void begin_frozen(struct scene *s)
{
	struct binder_freeze_info freeze = { .enable = 1, .timeout_ms = 1000 };
	struct pair *p = &s->p;
	u32 gone, kept, frozen;

	s->third = world_proc(&s->p.w);
	s->t = world_thread(s->third);
	s->gone = world_proc(&s->p.w);
	s->frozen = world_proc(&s->p.w);
	s->f = world_thread(s->frozen);
	kept = give_object(p, s->t, 0x3000);
	gone = give_object(p, world_thread(s->gone), 0x4000);
	frozen = give_object(p, s->f, 0x6000);
	while (world_write_read(s->f, true) == 0)
		; /* what was queued for it */
	world_resume(p->s, RESUME_INTERRUPTED);
	scene_notices(p->s, kept, 0x200);
	scene_notices(p->s, gone, 0x100);
	scene_notices(p->s, frozen, 0x300);
	world_poll_read(p->s);
	world_kill(s->gone);
	world_poll_read(p->s); /* its death is delivered */
	world_call(p->s, &(struct world_call){ .handle = frozen, .code = 5 });
	CHECK(world_write_read(p->s, true) == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	freeze.pid = (u32)s->frozen->sim->pid;
	s->freezer = world_thread(s->third);
	CHECK(world_ioctl(s->freezer, BINDER_FREEZE, &freeze) == BINDER_WOULD_BLOCK);
}

static void begin_scene(struct scene *s)
{
	struct pair *p = &s->p;
	u32 i;

	begin_pair(s);
	begin_frozen(s);
	/* One-way calls, one behind the other, with objects and files. */
	for (i = 0; i < 3; i++)
		send_objects(p->c, 0, 0x5000 + i % 2 * 16);
	CHECK(pair_call(p, 0, 9, 0, "outer") == BINDER_WOULD_BLOCK);
	/* A process that waits, and a mistake that is not read yet. */
	world_command(s->t, BC_ENTER_LOOPER, NULL);
	world_write_read(s->t, false);
	while (world_write_read(s->t, true) == 0)
		; /* what was queued for it */
	s->talker = world_thread(s->third);
	world_call(s->talker, &(struct world_call){ .handle = 77 });
	world_write_read(s->talker, false);
}

/* ---- damaged streams ---------------------------------------------------------------------- */

struct fuzz {
	u64 dice;
	u32 accepted, refused;
};

static void try_restore(struct fuzz *fuzz, const u8 *bytes, size_t size)
{
	bool accepted = world_try_state(bytes, size);

	fuzz->accepted += accepted;
	fuzz->refused += !accepted;
}

static void try_damaged(struct fuzz *fuzz, const struct binder_state *state, size_t at)
{
	static const u8 bytes[] = { 0, 1, 2, 3, 4, 5, 6, 8, 0x10, 0x40, 0x7f, 0x80, 0xff };
	u8 *copy = malloc(state->size);
	u32 i;

	for (i = 0; i < sizeof(bytes) && !unit_failed(); i++) {
		memcpy(copy, state->bytes, state->size);
		copy[at] = bytes[i];
		try_restore(fuzz, copy, state->size);
		copy[at] = state->bytes[at] ^ bytes[i];
		try_restore(fuzz, copy, state->size);
	}
	free(copy);
	copy = malloc(at); /* so that a read behind the end is found */
	memcpy(copy, state->bytes, at);
	try_restore(fuzz, copy, at);
	free(copy);
}

/* Several places at once. */
static void try_random(struct fuzz *fuzz, const struct binder_state *state)
{
	u8 *copy = malloc(state->size);
	u32 nr = 1 + unit_random(&fuzz->dice) % 4;

	memcpy(copy, state->bytes, state->size);
	while (nr--) {
		size_t at = unit_random(&fuzz->dice) % state->size;
		size_t from = unit_random(&fuzz->dice) % state->size;

		copy[at] = unit_random(&fuzz->dice) % 2 ? state->bytes[from] :
							   unit_random(&fuzz->dice) % 16;
	}
	try_restore(fuzz, copy, state->size);
	free(copy);
}

static void damage_everywhere(struct scene *s, const struct binder_state *state)
{
	struct fuzz fuzz = { 0 };
	size_t at;
	u32 i;

	world_forget(&s->p.w);
	for (at = 0; at < state->size && !unit_failed(); at++)
		try_damaged(&fuzz, state, at);
	for (i = 0; i < 20000 && !unit_failed(); i++)
		try_random(&fuzz, state);
	if (unit_failed())
		printf("  byte %zu of %zu, damage %u\n", at, state->size, i);
	CHECK(fuzz.accepted > 1000 && fuzz.refused > 1000);
	sim_state_forget();
}

TEST(state_that_is_damaged)
{
	struct binder_state state;
	struct scene s;

	begin_scene(&s);
	CHECK(!world_write_state(&state));
	damage_everywhere(&s, &state);
	free(state.bytes);
	CHECK(pair_end(&s.p));
}

/* ---- failures of the host -------------------------------------------------------------------- */

/* Each operation of the host fails in turn, until all of it succeeds. */
TEST(state_without_memory)
{
	struct binder_state state, failed;
	struct scene s;
	struct host_out why = { NULL };
	u32 nth = 0;

	begin_scene(&s);
	CHECK(!world_write_state(&state));
	do {
		sim_arm(SIM_ANY, ++nth);
		CHECK(!!world_write_state(&failed) == sim_stats.failed);
		free(failed.bytes);
	} while (sim_stats.failed && !unit_failed());
	CHECK(nth > 10);
	world_forget(&s.p.w);
	for (nth = 1; sim_arm(SIM_ANY, nth),
	     binder_state_restore(state.bytes, state.size, &why); nth++) {
		CHECK(sim_stats.failed && why.text);
		free(why.text);
		why = (struct host_out){ NULL };
		world_forget(&s.p.w);
	}
	CHECK(nth > 50);
	sim_arm(SIM_ANY, 0);
	free(state.bytes);
	binder_state_settle();
	world_hand_over(&s.p.w); /* which finds all objects again */
	CHECK(pair_end(&s.p));
}

static void refuse_stream(const char *stream, size_t size, const char *sentence)
{
	struct host_out why = { NULL };

	CHECK(binder_state_restore(stream, size, &why) == -EINVAL);
	CHECK(binder_state_restore(stream, size, NULL) == -EINVAL);
	CHECK(!strcmp(why.text, sentence));
	free(why.text);
}

TEST(state_of_another_version)
{
	struct binder_state state;
	struct world w;

	world_begin(&w);
	refuse_stream("anybindr\x02", 9,
	       "the state has version 2, and this program reads versions 1 to 1");
	refuse_stream("anybindx\x01", 9, "this is no state of an engine");
	refuse_stream("anybindr\x01\x0c\x01", 12,
	       "an unknown record of the state has version 1, and this program reads versions 1 "
	       "to 1");
	refuse_stream("anybindr\x01\x04\x07", 12,
	       "binder_thread has version 7, and this program reads versions 1 to 1");
	CHECK(binder_state_write(BINDER_STATE_VERSION + 1, &state) == -EINVAL);
	CHECK(binder_state_write(BINDER_STATE_OLDEST - 1, &state) == -EINVAL);
	CHECK(world_end(&w));
}

/* A device that was removed lives on in its opens. */
PAIR_TEST(state_of_a_removed_device)
{
	sim_device = NULL;
	binder_context_put(p->w.context);
	p->w.context = NULL;
	world_hand_over(&p->w);
	CHECK(pair_call(p, 0, 1, 0, "still there") == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	CHECK(pair_expect(p->s, BR_TRANSACTION, NULL));
	world_hand_over(&p->w);
}

/* More calls than a log keeps: the newest are handed over. */
PAIR_TEST(state_of_full_logs)
{
	struct host_out before = { NULL }, after = { NULL };
	const char *line;
	u32 lines = 0, i;

	for (i = 0; i < 2 * BINDER_LOG_ENTRIES; i++) {
		world_call(p->c, &(struct world_call){ .handle = 77 });
		world_write_read(p->c, false);
		world_poll_read(p->c); /* the mistake */
	}
	binder_report_failed_transaction_log(&before);
	world_hand_over(&p->w);
	binder_report_failed_transaction_log(&after);
	for (line = before.text; *line; line = strchr(line, '\n') + 1)
		lines++;
	CHECK(lines == BINDER_LOG_ENTRIES);
	CHECK(!strcmp(before.text, after.text));
	free(before.text);
	free(after.text);
}

/* ---- streams of released versions ------------------------------------------------------------ */

#define GOLDEN "tests/engine/state/v1.hex"

static void write_golden(const char *path, const struct binder_state *state)
{
	FILE *file = fopen(path, "w");
	size_t i;

	REQUIRE(file);
	for (i = 0; i < state->size; i++)
		fprintf(file, "%02x%s", state->bytes[i],
			i % 48 == 47 || i + 1 == state->size ? "\n" : "");
	fclose(file);
}

static struct binder_state read_golden(const char *path)
{
	struct binder_state state = { .bytes = malloc(1 << 16) };
	FILE *file = fopen(path, "r");
	unsigned int byte;

	while (file && state.size < 1 << 16 && fscanf(file, "%2x", &byte) == 1)
		state.bytes[state.size++] = (u8)byte;
	if (file)
		fclose(file);
	return state;
}

/* The same scene was written by each version: what it wrote is restored, and goes on. */
TEST(state_golden)
{
	const char *path = getenv("UNIT_GOLDEN");
	struct binder_state now, golden;
	struct scene s;
	u32 br = 0;

	begin_scene(&s);
	CHECK(!world_write_state(&now)); /* keeps the files */
	if (path)
		write_golden(path, &now);
	golden = read_golden(path ? path : GOLDEN);
	world_restore_state(&s.p.w, &golden);
	free(golden.bytes);
	free(now.bytes);
	/* The frozen process replies, and the server reads what is next. */
	world_reply(s.f, &(struct world_call){ .data = "done", .size = 5 });
	CHECK(world_write_read(s.f, false) == 0);
	CHECK(s.freezer->parked && s.p.s->parked);
	world_run(&s.p.w);
	CHECK(!s.freezer->parked && s.freezer->result == 0);
	while (br != BR_REPLY && (br = world_next(s.p.s, NULL)))
		;
	CHECK(br == BR_REPLY);
	CHECK(pair_end(&s.p));
}
