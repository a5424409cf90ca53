// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that say anything: command streams made of real command codes with
 * arguments that are sometimes right, often nearly right and sometimes garbage.
 * Nobody looks at the answers; the engine must stay in one piece, and be empty when
 * everybody is gone.
 */
#include "object.h"
#include "pair.h"
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#define PROCS	3
#define THREADS 2
#define ROUNDS	1000
#define SEEDS	60 /* or as many as FUZZ_SEEDS says */

struct fuzz {
	struct world w;
	u64 seed;
	struct world_proc *procs[PROCS];
	u64 scratch[PROCS]; /* 4 KiB in each */
	u64 seen[16];	    /* numbers that the engine told: buffers, cookies */
	u32 nr_seen;
};

static u32 dice(struct fuzz *f, u32 sides)
{
	return unit_random(&f->seed) % sides;
}

static bool rarely(struct fuzz *f)
{
	return !dice(f, 24);
}

/* A number as a client might choose it. */
static u64 number(struct fuzz *f)
{
	static const u64 odd[] = { 0, 1, 4, 7, 8, 12, 4095, 4096, 0x7fffffff, 0x80000000,
				   0xffffffff, 1ull << 32, 1ull << 62, 1ull << 63, -8ull, -1ull };

	switch (dice(f, 4)) {
	case 0:
		return odd[dice(f, sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return dice(f, 8);
	case 2:
		return dice(f, 300) * 8;
	default:
		return f->seen[dice(f, 16)];
	}
}

static u64 sane(struct fuzz *f, u64 value)
{
	return rarely(f) ? number(f) : value;
}

static void random_object(struct fuzz *f, union binder_object *o, u64 scratch)
{
	static const u32 types[] = { BINDER_TYPE_BINDER, BINDER_TYPE_WEAK_BINDER,
				     BINDER_TYPE_HANDLE, BINDER_TYPE_WEAK_HANDLE,
				     BINDER_TYPE_FD,	 BINDER_TYPE_FDA,
				     BINDER_TYPE_PTR,	 BINDER_TYPE_PTR };
	u32 type = (u32)sane(f, types[dice(f, 8)]);

	memset(o, 0, sizeof(*o));
	if (type == BINDER_TYPE_PTR) {
		o->buffer.flags = dice(f, 2);
		o->buffer.buffer = sane(f, scratch + dice(f, 64) * 8);
		o->buffer.length = sane(f, dice(f, 6) * 8);
		o->buffer.parent = sane(f, dice(f, 4));
		o->buffer.parent_offset = sane(f, dice(f, 4) * 8);
	} else if (type == BINDER_TYPE_FDA) {
		o->fda.num_fds = sane(f, dice(f, 3));
		o->fda.parent = sane(f, dice(f, 4));
		o->fda.parent_offset = sane(f, dice(f, 4) * 4);
	} else if (type == BINDER_TYPE_BINDER || type == BINDER_TYPE_WEAK_BINDER) {
		o->flat.flags = (u32)number(f);
		o->flat.binder = dice(f, 4) * 16;
		o->flat.cookie = sane(f, 1);
	} else {
		o->flat.handle = (u32)sane(f, dice(f, 4));
	}
	o->flat.hdr.type = type;
}

/* Data, offsets and extra buffers, all in the scratch memory of the sender. */
static struct binder_transaction_data_sg random_parcel(struct fuzz *f, u32 nr)
{
	struct sim_proc *sim = f->procs[nr]->sim;
	u64 scratch = f->scratch[nr];
	u32 objects = dice(f, 5), i;
	struct binder_transaction_data_sg sg = {
		.transaction_data = {
			.target.handle = (u32)sane(f, dice(f, 3)),
			.code = dice(f, 4),
			.flags = (u32)sane(f, dice(f, 0x80)),
			.data_size = sane(f, objects * 40 + dice(f, 4) * 4),
			.offsets_size = sane(f, objects * 8),
			.data.ptr.buffer = sane(f, scratch),
			.data.ptr.offsets = sane(f, scratch + 1024),
		},
		.buffers_size = sane(f, dice(f, 20) * 8),
	};

	for (i = 0; i < objects; i++) {
		union binder_object o;
		u64 offset = sane(f, i * 40);

		random_object(f, &o, scratch);
		sim_write(sim, scratch + i * 40, &o, sizeof(o));
		sim_write(sim, scratch + 1024 + i * 8, &offset, sizeof(offset));
	}
	return sg;
}

static void random_command(struct fuzz *f, struct world_thread *t, u32 nr)
{
	static const u32 codes[] = {
		BC_TRANSACTION, BC_TRANSACTION, BC_TRANSACTION_SG, BC_TRANSACTION_SG, BC_REPLY,
		BC_FREE_BUFFER, BC_FREE_BUFFER, BC_INCREFS, BC_ACQUIRE, BC_ACQUIRE, BC_RELEASE,
		BC_DECREFS, BC_INCREFS_DONE, BC_ACQUIRE_DONE,
		BC_REGISTER_LOOPER, BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_REQUEST_DEATH_NOTIFICATION,
		BC_CLEAR_DEATH_NOTIFICATION, BC_DEAD_BINDER_DONE, BC_REQUEST_FREEZE_NOTIFICATION,
		BC_CLEAR_FREEZE_NOTIFICATION, BC_FREEZE_NOTIFICATION_DONE,
	};
	static const u32 bad[] = { BC_ATTEMPT_ACQUIRE, BC_ACQUIRE_RESULT, ABI_IO('c', 77) };
	u32 code = rarely(f) ? bad[dice(f, 3)] :
			       codes[dice(f, sizeof(codes) / sizeof(codes[0]))];
	u64 args[10] = { number(f), number(f), number(f) };
	struct binder_handle_cookie notice = { dice(f, 4), dice(f, 3) };
	struct binder_transaction_data_sg sg;

	if (t->out_len > WORLD_IO_SIZE - 100)
		return;
	switch (code) {
	case BC_TRANSACTION:
	case BC_TRANSACTION_SG:
	case BC_REPLY:
	case BC_REPLY_SG:
		sg = random_parcel(f, nr);
		world_command(t, code, &sg);
		break;
	case BC_INCREFS:
	case BC_ACQUIRE:
	case BC_RELEASE:
	case BC_DECREFS:
		args[0] = sane(f, dice(f, 4));
		world_command(t, code, args);
		break;
	case BC_INCREFS_DONE:
	case BC_ACQUIRE_DONE:
		args[0] = dice(f, 4) * 16;
		args[1] = sane(f, 1);
		world_command(t, code, args);
		break;
	case BC_REQUEST_DEATH_NOTIFICATION:
	case BC_CLEAR_DEATH_NOTIFICATION:
	case BC_REQUEST_FREEZE_NOTIFICATION:
	case BC_CLEAR_FREEZE_NOTIFICATION:
		world_command(t, code, &notice);
		break;
	default:
		world_command(t, code, args);
		break;
	}
}

static void random_ioctl(struct fuzz *f, struct world_thread *t)
{
	static const u32 cmds[] = { BINDER_SET_MAX_THREADS, BINDER_SET_CONTEXT_MGR,
				    BINDER_SET_CONTEXT_MGR_EXT, BINDER_THREAD_EXIT,
				    BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF,
				    BINDER_FREEZE, BINDER_FREEZE, BINDER_GET_FROZEN_INFO,
				    BINDER_ENABLE_ONEWAY_SPAM_DETECTION,
				    BINDER_GET_EXTENDED_ERROR, BINDER_SET_IDLE_TIMEOUT };
	u32 cmd = cmds[dice(f, sizeof(cmds) / sizeof(cmds[0]))];
	u64 arg[8] = { number(f), number(f), number(f) };

	if (cmd == BINDER_FREEZE) {
		struct binder_freeze_info info = { (u32)(200 + 100 * dice(f, 3)), dice(f, 2),
						   dice(f, 2) };

		memcpy(arg, &info, sizeof(info));
	}
	world_ioctl(t, cmd, arg);
}

/* Does what a client ought to do. */
static void be_polite(struct fuzz *f, struct world_thread *t, u32 nr, u32 br, const u64 *arg)
{
	const struct binder_transaction_data *tr = (const void *)arg;
	struct binder_transaction_data_sg sg;

	if (t->out_len > WORLD_IO_SIZE - 200)
		return;
	switch (br) {
	case BR_TRANSACTION_SEC_CTX:
	case BR_TRANSACTION:
		sg = random_parcel(f, nr);
		world_free_buffer(t, tr);
		if (!(tr->flags & TF_ONE_WAY))
			world_command(t, dice(f, 2) ? BC_REPLY_SG : BC_REPLY, &sg);
		break;
	case BR_REPLY:
		world_free_buffer(t, tr);
		break;
	case BR_INCREFS:
		world_command(t, BC_INCREFS_DONE, arg);
		break;
	case BR_ACQUIRE:
		world_command(t, BC_ACQUIRE_DONE, arg);
		break;
	case BR_DEAD_BINDER:
		world_command(t, BC_DEAD_BINDER_DONE, arg);
		break;
	case BR_FROZEN_BINDER:
		world_command(t, BC_FREEZE_NOTIFICATION_DONE, arg);
		break;
	default:
		break;
	}
}

/* Remembers what the thread was told, to say it back at times. */
static void listen(struct fuzz *f, struct world_thread *t, u32 nr)
{
	u64 arg[10];
	u32 br;

	while ((br = world_next(t, arg))) {
		if (br == BR_TRANSACTION || br == BR_REPLY || br == BR_TRANSACTION_SEC_CTX)
			f->seen[f->nr_seen++ % 16] =
				((struct binder_transaction_data *)arg)->data.ptr.buffer;
		if (dice(f, 4))
			be_polite(f, t, nr, br, arg);
	}
}

static void one_round(struct fuzz *f)
{
	u32 nr = dice(f, PROCS), i;
	struct world_proc *proc = f->procs[nr];
	struct world_thread *t = proc->threads[dice(f, THREADS)];

	listen(f, t, nr);
	if (t->parked && dice(f, 4))
		return;
	if (t->parked)
		world_resume(t, dice(f, 2) ? RESUME_INTERRUPTED : RESUME_TIMED_OUT);
	if (t->parked)
		return;
	for (i = dice(f, 6); i; i--)
		random_command(f, t, nr);
	if (dice(f, 3))
		world_write_read(t, true);
	else
		random_ioctl(f, t);
	world_settle(&f->w);
	if (!dice(f, 40))
		binder_shrink(dice(f, 10));
	if (!dice(f, 2000))
		world_kill(proc);
}

static bool run(u64 seed)
{
	struct fuzz f = { .seed = seed };
	u32 i, j;

	world_begin(&f.w);
	for (i = 0; i < PROCS; i++) {
		f.procs[i] = world_proc(&f.w);
		f.procs[i]->sim->fds_later = seed & 1;
		sim_file_open(f.procs[i]->sim);
		for (j = 0; j < THREADS; j++)
			world_thread(f.procs[i]);
		f.scratch[i] = world_memory(f.procs[i], NULL, 4096);
	}
	world_become_manager(f.procs[0]->threads[0]);
	for (i = 0; i < ROUNDS; i++)
		one_round(&f);
	return world_end(&f.w) && !sim_stats.allocs && !sim_stats.files;
}

static u64 nr_seeds(void)
{
	const char *more = getenv("FUZZ_SEEDS");

	return more ? strtoull(more, NULL, 0) : SEEDS;
}

TEST(fuzz_of_commands)
{
	u64 seed;

	for (seed = 1; seed <= nr_seeds() && !unit_failed(); seed++) {
		if (!CHECK(run(seed * 0x9e3779b97f4a7c15)))
			printf("  with seed %u\n", (u32)seed);
	}
}

TEST(fuzz_of_commands_while_the_host_fails)
{
	u64 seed;

	for (seed = 1; seed <= nr_seeds() && !unit_failed(); seed++) {
		sim_fail_every(40 + seed % 100);
		if (!CHECK(run(seed * 0xc2b2ae3d27d4eb4f)))
			printf("  with seed %u\n", (u32)seed);
		sim_fail_every(0);
	}
}
