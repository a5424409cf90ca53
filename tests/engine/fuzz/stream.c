// SPDX-License-Identifier: GPL-2.0
/*
 * Clients with random command streams: real command codes with arguments that are sometimes right,
 * often nearly right and sometimes garbage. The answers are not checked; the engine must not
 * crash, and must be empty when all processes have ended.
 */
#include "common/abi_list.h"
#include "pure/flat_object.h"
#include "pair.h"
#include "reports.h"
#include "entities/world.h"
#include "common/stats.h"
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#define PROCS	3
#define THREADS 2
#define ROUNDS	1000

struct fuzz {
	struct world w;
	struct choices *c;
	struct world_proc *procs[PROCS];
	u64 scratch[PROCS]; /* 4 KiB in each */
	u64 seen[16];	    /* numbers that the engine returned: buffers, cookies */
	u32 nr_seen;
};

static u32 dice(struct fuzz *f, u32 sides)
{
	return choose(f->c, sides);
}

static bool rarely(struct fuzz *f)
{
	return dice(f, 24) == 23;
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
			.flags = (u32)sane(f, dice(f, 0x100)),
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

static void fill_parcel(struct fuzz *f, u32 nr, void *arg)
{
	*(struct binder_transaction_data_sg *)arg = random_parcel(f, nr);
}

static void fill_handle(struct fuzz *f, u32 nr, void *arg)
{
	*(u32 *)arg = (u32)sane(f, dice(f, 4));
}

static void fill_node(struct fuzz *f, u32 nr, void *arg)
{
	struct binder_ptr_cookie node = { dice(f, 4) * 16, sane(f, 1) };

	memcpy(arg, &node, sizeof(node));
}

static void fill_notice(struct fuzz *f, u32 nr, void *arg)
{
	struct binder_handle_cookie notice = { dice(f, 4), dice(f, 3) };

	memcpy(arg, &notice, sizeof(notice));
}

static void fill_numbers(struct fuzz *f, u32 nr, void *arg)
{
	u64 *args = arg;
	u32 i;

	for (i = 0; i < 3; i++)
		args[i] = number(f);
}

/* The commands that have no effect unless their argument is nearly right. */
static const struct {
	u32 code;
	void (*fill)(struct fuzz *f, u32 nr, void *arg);
} shapes[] = {
	{ BC_TRANSACTION, fill_parcel },
	{ BC_TRANSACTION_SG, fill_parcel },
	{ BC_REPLY, fill_parcel },
	{ BC_REPLY_SG, fill_parcel },
	{ BC_INCREFS, fill_handle },
	{ BC_ACQUIRE, fill_handle },
	{ BC_RELEASE, fill_handle },
	{ BC_DECREFS, fill_handle },
	{ BC_INCREFS_DONE, fill_node },
	{ BC_ACQUIRE_DONE, fill_node },
	{ BC_REQUEST_DEATH_NOTIFICATION, fill_notice },
	{ BC_CLEAR_DEATH_NOTIFICATION, fill_notice },
	{ BC_REQUEST_FREEZE_NOTIFICATION, fill_notice },
	{ BC_CLEAR_FREEZE_NOTIFICATION, fill_notice },
};
#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

#define CODE(code) code,
static const u32 commands[] = { BINDER_COMMANDS(CODE) };

#define IOCTL(cmd) [ABI_IOC_NR(cmd)] = cmd
static const u32 ioctls[32] = {
	IOCTL(BINDER_WRITE_READ),
	IOCTL(BINDER_SET_MAX_THREADS),
	IOCTL(BINDER_SET_CONTEXT_MGR),
	IOCTL(BINDER_SET_CONTEXT_MGR_EXT),
	IOCTL(BINDER_THREAD_EXIT),
	IOCTL(BINDER_SET_INHERIT_FIFO_PRIO),
	IOCTL(BINDER_VERSION),
	IOCTL(BINDER_GET_NODE_DEBUG_INFO),
	IOCTL(BINDER_GET_NODE_INFO_FOR_REF),
	IOCTL(BINDER_FREEZE),
	IOCTL(BINDER_GET_FROZEN_INFO),
	IOCTL(BINDER_ENABLE_ONEWAY_SPAM_DETECTION),
	IOCTL(BINDER_GET_EXTENDED_ERROR),
};

static u32 random_code(struct fuzz *f)
{
	if (rarely(f))
		return dice(f, 2) ? (u32)choose_u64(f->c) : ABI_IO('c', 77);
	if (!dice(f, 3))
		return shapes[dice(f, 2)].code; /* most effects begin with a call */
	return commands[dice(f, sizeof(commands) / sizeof(commands[0]))];
}

static void random_command(struct fuzz *f, struct world_thread *t, u32 nr)
{
	u32 code = random_code(f), i = 0;
	u64 args[10] = { 0 };

	if (t->out_len + 4 + ABI_IOC_SIZE(code) > WORLD_IO_SIZE)
		return;
	while (i < NR_SHAPES && shapes[i].code != code)
		i++;
	(i < NR_SHAPES ? shapes[i].fill : fill_numbers)(f, nr, args);
	if (ABI_IOC_SIZE(code) <= sizeof(args))
		world_command(t, code, args);
	if (rarely(f))
		t->out_len -= dice(f, 4); /* the end is missing */
}

static void random_ioctl(struct fuzz *f, struct world_thread *t)
{
	u32 cmd = rarely(f) ? (u32)choose_u64(f->c) : ioctls[dice(f, 32)];
	u64 arg[8] = { number(f), number(f), number(f) };

	if (cmd == BINDER_FREEZE) {
		struct binder_freeze_info info = { (u32)(200 + 100 * dice(f, 3)), dice(f, 2),
						   dice(f, 2) };

		memcpy(arg, &info, sizeof(info));
	}
	if (cmd != BINDER_WRITE_READ && ABI_IOC_SIZE(cmd) <= sizeof(arg))
		world_ioctl(t, cmd, arg);
}

/* Does what a correct client does. */
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
	default:
		if (sim_acknowledgement(br))
			world_command(t, sim_acknowledgement(br), arg);
		break;
	}
}

/* Records what the thread was returned, to use it as an argument at times. */
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

static void report_one(struct host_out *out)
{
	s32 pid = -1;

	binder_pi_mutex_lock(&binder_world.lock);
	if (!bl_empty(&binder_world.procs))
		pid = bl_entry(binder_world.procs.prev, struct binder_proc, world_link)->pid;
	binder_pi_mutex_unlock(&binder_world.lock);
	test_report(out, REPORT_PROC, pid);
}

static void report_state(struct host_out *out)
{
	test_report(out, REPORT_STATE, 0);
}

static void report_stats(struct host_out *out)
{
	test_report(out, REPORT_STATS, 0);
}

static void report_transactions(struct host_out *out)
{
	test_report(out, REPORT_TRANSACTIONS, 0);
}

/* Operations other than ioctls: read reports, poll, close a descriptor. */
static void look_around(struct fuzz *f, struct world_thread *t)
{
	static void (*const reports[])(struct host_out *out) = {
		report_state,	     report_stats,
		report_transactions, binder_report_transaction_log,
		binder_report_failed_transaction_log, report_one,
	};
	u32 what = dice(f, sizeof(reports) / sizeof(reports[0]) + 2);
	struct host_out out = { 0 };
	struct binder_thread *thread;

	if (what == 0) {
		binder_flush(t->proc->proc);
	} else if (what == 1) {
		thread = binder_thread_find_or_new(t->proc->proc, t->tid, &t->sim);
		if (thread) {
			binder_poll(thread);
			binder_thread_put(thread);
		}
	} else {
		reports[what - 2](&out);
		free(out.text);
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
	world_run(&f->w);
	if (t->proc->proc && !dice(f, 12))
		look_around(f, t);
	if (!dice(f, 40))
		binder_shrink(dice(f, 10));
	if (!dice(f, 2000))
		world_kill(proc);
}

bool fuzz_stream(struct choices *c)
{
	struct fuzz f = { .c = c };
	bool empty;
	u32 i, j;

	world_begin(&f.w);
	for (i = 0; i < PROCS; i++) {
		f.procs[i] = world_proc(&f.w);
		f.procs[i]->sim->fds_later = dice(&f, 2);
		sim_file_open(f.procs[i]->sim);
		for (j = 0; j < THREADS; j++)
			world_thread(f.procs[i]);
		f.scratch[i] = world_memory(f.procs[i], NULL, 4096);
	}
	world_become_manager(f.procs[0]->threads[0]);
	for (i = 0; i < ROUNDS && !choices_over(c); i++)
		one_round(&f);
	empty = world_end(&f.w) && !sim_stats.allocs && !sim_stats.files;
	return empty || fuzz_wrong("nothing is left when all are gone");
}
