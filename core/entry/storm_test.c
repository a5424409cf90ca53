// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads of several processes, each on a thread of the system, that do random things
 * while processes are killed and replaced. Single calls are not checked. Tested is that
 * locks are taken in order, that no memory is used after it was freed, that there are no
 * data races (in the build with the thread sanitizer) and no lost wake-ups, and that
 * nothing is left in the end. Tests the whole engine.
 */
#include "common/lock.h"
#include "core.h"
#include "reports.h"
#include "check.h"
#include "entities/context.h"
#include "entities/proc.h"
#include "entities/thread.h"
#include "entities/world.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROCS	   4 /* the first is the context manager */
#define THREADS	   3 /* of each */
#define AREA	   0x4000 /* bytes for each thread in the memory of its process */
#define IO_SIZE	   0x1000
#define DATA_AT	   0x2000
#define PATIENCE_US 5000

struct storm_proc {
	struct storm *storm;
	struct sim_proc *sim;
	struct binder_proc *proc;
	struct actor *actors;
	bool manager;
	bool stop;
};

struct actor {
	struct storm_proc *owner;
	struct sim_thread sim;
	struct host_priority priority;
	pthread_t thread;
	s32 tid;
	u64 seed;
	u64 area;
	u8 out[512];
	size_t out_len;
	u32 handles[8]; /* with a strong count on each */
	u32 nr_handles;
	char stack[16]; /* 'C' a call of its own, 'S' one that it serves, innermost last */
	u32 depth;
	u32 lost_wakes;
	u64 calls;
};

struct storm {
	struct binder_context *context;
	struct storm_proc procs[PROCS];
	s32 last_pid;
	u32 lost_wakes;
	u64 calls;
};

static u32 dice(struct actor *a, u32 sides)
{
	return unit_random(&a->seed) % sides;
}

/* ---- calls that wait --------------------------------------------------------- */

static u64 now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000 + (u64)ts.tv_nsec / 1000;
}

static bool is_woken(struct actor *a)
{
	return __atomic_load_n(&a->sim.woken, __ATOMIC_SEQ_CST);
}

static void clear_woken(struct actor *a)
{
	__atomic_store_n(&a->sim.woken, false, __ATOMIC_SEQ_CST);
}

static enum binder_resume_reason wait_for_something(struct actor *a)
{
	u64 until = now_us() + PATIENCE_US;

	while (!is_woken(a)) {
		if (__atomic_load_n(&a->owner->stop, __ATOMIC_SEQ_CST))
			return RESUME_INTERRUPTED;
		if (now_us() > until)
			return RESUME_TIMED_OUT;
		sched_yield();
	}
	clear_woken(a);
	return RESUME_WOKEN;
}

/*
 * Returns whether the thread has work of its own and was not woken. (Work of the process
 * may be for another thread that is slow to run.)
 */
static bool wake_is_lost(struct actor *a, struct binder_thread *thread)
{
	bool lost;

	binder_lock(&thread->proc->inner_lock);
	lost = thread->process_todo && !is_woken(a);
	binder_unlock(&thread->proc->inner_lock);
	return lost;
}

static int wait_and_resume(struct actor *a, struct binder_thread *thread, u32 cmd, void *arg)
{
	enum binder_resume_reason why = wait_for_something(a);

	if (why == RESUME_TIMED_OUT && cmd != BINDER_FREEZE) {
		a->lost_wakes += wake_is_lost(a, thread);
		why = RESUME_INTERRUPTED;
	}
	return binder_resume(thread, cmd, arg, why);
}

static int call(struct actor *a, u32 cmd, void *arg)
{
	struct binder_thread *thread = binder_thread_find_or_new(a->owner->proc, a->tid, &a->sim);
	int result;

	if (!thread)
		return -ENOMEM;
	a->calls++;
	clear_woken(a);
	result = binder_ioctl(thread, cmd, arg, false);
	while (result > 0) {
		if (result == BINDER_RESTART)
			result = binder_ioctl(thread, cmd, arg, false);
		else if (result == BINDER_AGAIN)
			result = binder_resume(thread, cmd, arg, RESUME_WOKEN);
		else
			result = wait_and_resume(a, thread, cmd, arg);
	}
	binder_thread_put(thread);
	return result;
}

/* ---- commands ------------------------------------------------------------------ */

/* Appends a command to the next write. */
static void command(struct actor *a, u32 bc, const void *arg)
{
	size_t size = ABI_IOC_SIZE(bc);

	if (a->out_len + sizeof(bc) + size > sizeof(a->out))
		return;
	memcpy(a->out + a->out_len, &bc, sizeof(bc));
	if (size)
		memcpy(a->out + a->out_len + sizeof(bc), arg, size);
	a->out_len += sizeof(bc) + size;
}

struct parcel {
	struct flat_binder_object object;
	struct binder_fd_object fd;
	struct binder_buffer_object buffer;
	struct binder_fd_array_object fda;
	u64 offsets[4];
	u32 fds[2];
};

#define PARCEL_SIZE offsetof(struct parcel, offsets)

/* A call, one-way call or reply with up to four objects. */
static void send(struct actor *a, bool reply, u32 handle, u32 flags)
{
	u64 at = a->area + DATA_AT;
	struct parcel p = {
		.object = { .hdr.type = dice(a, 4) ? BINDER_TYPE_BINDER : BINDER_TYPE_WEAK_BINDER,
			    .binder = 0x1000 + dice(a, 6), .cookie = 1 },
		.fd = { .hdr.type = BINDER_TYPE_FD },
		.buffer = { .hdr.type = BINDER_TYPE_PTR, .length = 8,
			    .buffer = at + offsetof(struct parcel, fds) },
		.fda = { .hdr.type = BINDER_TYPE_FDA, .num_fds = 2, .parent = 2 },
		.offsets = { 0, offsetof(struct parcel, fd), offsetof(struct parcel, buffer),
			     offsetof(struct parcel, fda) },
	};
	struct binder_transaction_data_sg sg = {
		.transaction_data = {
			.target.handle = handle,
			.flags = flags | TF_ACCEPT_FDS | (dice(a, 4) ? 0 : TF_CLEAR_BUF) |
				 (dice(a, 2) ? TF_DEFER_COMPLETE : 0),
			.data_size = dice(a, 3) ? PARCEL_SIZE : dice(a, 6000),
			.data.ptr.buffer = at,
			.data.ptr.offsets = at + offsetof(struct parcel, offsets),
		},
		.buffers_size = 8,
	};

	if (a->nr_handles && dice(a, 2)) {
		p.object.hdr.type = BINDER_TYPE_HANDLE;
		p.object.cookie = 0;
		p.object.binder = 0;
		p.object.handle = a->handles[dice(a, a->nr_handles)];
	}
	if (sg.transaction_data.data_size == PARCEL_SIZE)
		sg.transaction_data.offsets_size = dice(a, 5) * sizeof(u64);
	sim_write(a->owner->sim, at, &p, sizeof(p));
	if (sg.transaction_data.offsets_size > 2 * sizeof(u64))
		command(a, reply ? BC_REPLY_SG : BC_TRANSACTION_SG, &sg);
	else
		command(a, reply ? BC_REPLY : BC_TRANSACTION, &sg.transaction_data);
}

/* Acquires a handle in the received data, or not, and closes a received file. */
static void unpack(struct actor *a, const struct binder_transaction_data *tr)
{
	struct parcel p;

	if (tr->data_size != PARCEL_SIZE || !tr->offsets_size ||
	    sim_read(a->owner->sim, &p, tr->data.ptr.buffer, tr->data_size))
		return;
	if (p.object.hdr.type == BINDER_TYPE_HANDLE && a->nr_handles < 8 && dice(a, 2)) {
		struct binder_handle_cookie notice = { p.object.handle, (u64)a->tid };

		a->handles[a->nr_handles++] = p.object.handle;
		command(a, BC_ACQUIRE, &p.object.handle);
		if (dice(a, 2))
			command(a, BC_REQUEST_DEATH_NOTIFICATION, &notice);
		if (!dice(a, 4))
			command(a, BC_REQUEST_FREEZE_NOTIFICATION, &notice);
	}
	/* The files of an array are closed with the buffer. */
	if (tr->offsets_size >= 2 * sizeof(u64) && p.fd.fd)
		sim_file_close(a->owner->sim, p.fd.fd);
}

static char innermost(const struct actor *a)
{
	return a->depth ? a->stack[a->depth - 1] : 0;
}

static void push(struct actor *a, char what)
{
	if (a->depth < sizeof(a->stack))
		a->stack[a->depth++] = what;
}

/* A handle to call: mostly the context manager. */
static u32 random_target(struct actor *a)
{
	return a->nr_handles && dice(a, 2) ? a->handles[dice(a, a->nr_handles)] : 0;
}

static void call_random(struct actor *a)
{
	push(a, 'C');
	send(a, false, random_target(a), 0);
}

/* If the thread serves a call: replies, or makes a nested call first. */
static void serve(struct actor *a)
{
	if (innermost(a) != 'S')
		return;
	if (a->depth < 8 && !dice(a, 4)) {
		call_random(a);
		return;
	}
	a->depth--;
	send(a, true, 0, 0);
}

static void take_transaction(struct actor *a, u32 br, const struct binder_transaction_data *tr)
{
	unpack(a, tr);
	if (dice(a, 50)) /* some are never freed */
		command(a, BC_FREE_BUFFER, &tr->data.ptr.buffer);
	if (br == BR_REPLY)
		a->depth -= innermost(a) == 'C';
	else if (!(tr->flags & TF_ONE_WAY))
		push(a, 'S');
}

static void handle_return(struct actor *a, u32 br, const u8 *arg)
{
	switch (br) {
	case BR_TRANSACTION:
	case BR_TRANSACTION_SEC_CTX:
	case BR_REPLY:
		take_transaction(a, br, (const void *)arg);
		break;
	case BR_FAILED_REPLY:
	case BR_DEAD_REPLY:
	case BR_FROZEN_REPLY:
		a->depth -= innermost(a) == 'C';
		break;
	default:
		if (sim_acknowledgement(br))
			command(a, sim_acknowledgement(br), arg);
		break;
	}
	serve(a);
}

static void write_read(struct actor *a, bool read)
{
	struct binder_write_read bwr = {
		.write_size = a->out_len,
		.write_buffer = a->area,
		.read_size = read ? 256 : 0,
		.read_buffer = a->area + IO_SIZE,
	};
	_Alignas(8) u8 in[256];
	u8 arg[80];
	size_t at = 0;

	sim_write(a->owner->sim, a->area, a->out, a->out_len);
	a->out_len = 0;
	call(a, BINDER_WRITE_READ, &bwr);
	sim_read(a->owner->sim, in, bwr.read_buffer, sizeof(in));
	while (at + sizeof(u32) <= bwr.read_consumed) {
		u32 br;
		size_t size;

		memcpy(&br, in + at, sizeof(br));
		size = ABI_IOC_SIZE(br);
		memcpy(arg, in + at + sizeof(br), size);
		at += sizeof(br) + size;
		handle_return(a, br, arg);
	}
}

/* ---- random operations -------------------------------------------------------------- */

static void drop_a_handle(struct actor *a)
{
	u32 handle;

	if (!a->nr_handles)
		return;
	handle = a->handles[--a->nr_handles];
	if (dice(a, 2)) {
		struct binder_handle_cookie notice = { handle, (u64)a->tid };

		command(a, BC_CLEAR_DEATH_NOTIFICATION, &notice);
	}
	command(a, BC_RELEASE, &handle);
}

static void freeze_random(struct actor *a)
{
	struct binder_freeze_info info = {
		.pid = (u32)a->owner->sim->pid - 1000 + 1000 * dice(a, 3),
		.enable = 1,
		.timeout_ms = dice(a, 2),
	};

	call(a, BINDER_FREEZE, &info);
	info.enable = 0;
	call(a, BINDER_FREEZE, &info);
}

/* Prints all reports, lists the nodes of the process and polls. */
static void print_reports(struct actor *a)
{
	struct binder_node_debug_info info = { 0 };
	struct host_out out = { 0 };
	struct binder_thread *thread;

	test_report(&out, REPORT_STATE, 0);
	test_report(&out, REPORT_TRANSACTIONS, 0);
	test_report(&out, REPORT_STATS, 0);
	binder_report_transaction_log(&out);
	test_report(&out, REPORT_PROC, a->owner->sim->pid);
	free(out.text);
	do {
		if (call(a, BINDER_GET_NODE_DEBUG_INFO, &info))
			break;
	} while (info.ptr);
	thread = binder_thread_find_or_new(a->owner->proc, a->tid, &a->sim);
	if (thread) {
		binder_poll(thread);
		binder_thread_put(thread);
	}
	binder_flush(a->owner->proc);
}

static void *actor_main(void *arg)
{
	struct actor *a = arg;
	bool looper = a->owner->manager || a->tid % 2;

	if (looper)
		command(a, BC_ENTER_LOOPER, NULL);
	while (!__atomic_load_n(&a->owner->stop, __ATOMIC_SEQ_CST)) {
		u32 what = dice(a, 256);

		if (what == 0) {
			freeze_random(a);
		} else if (what == 1) {
			call(a, BINDER_THREAD_EXIT, &(s32){ 0 });
			a->depth = 0;
			if (looper)
				command(a, BC_ENTER_LOOPER, NULL);
		} else if (what == 2) {
			binder_shrink(dice(a, 20));
		} else if (what == 3) {
			print_reports(a);
		} else if (what < 20) {
			drop_a_handle(a);
		} else if (what < 80) {
			send(a, false, random_target(a),
			     TF_ONE_WAY | (dice(a, 2) ? TF_UPDATE_TXN : 0));
		} else if (!a->depth && !looper) {
			call_random(a);
		}
		write_read(a, what > 10);
	}
	return NULL;
}

/* ---- processes ---------------------------------------------------------------------- */

static void start_proc(struct storm *storm, u32 nr)
{
	struct flat_binder_object manager = { .hdr.type = BINDER_TYPE_BINDER,
					      .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	struct storm_proc *proc = &storm->procs[nr];
	u32 i;

	proc->storm = storm;
	proc->stop = false;
	proc->manager = nr == 0;
	storm->last_pid += 1000;
	proc->sim = sim_proc_new(storm->last_pid, 1000, 32 * 4096);
	sim_file_open(proc->sim);
	proc->sim->fds_later = nr % 2;
	while (binder_open(storm->context, proc->sim, &proc->proc))
		; /* an injected failure: try again */
	proc->actors = calloc(THREADS, sizeof(*proc->actors));
	for (i = 0; i < THREADS; i++) {
		struct actor *a = &proc->actors[i];

		a->owner = proc;
		a->sim.proc = proc->sim;
		a->sim.priority = &a->priority;
		a->tid = storm->last_pid + (s32)i;
		a->seed = (u64)a->tid * 0x9e3779b97f4a7c15;
		a->area = SIM_BASE + i * AREA;
	}
	if (proc->manager)
		call(&proc->actors[0], BINDER_SET_CONTEXT_MGR_EXT, &manager);
	for (i = 0; i < THREADS; i++)
		pthread_create(&proc->actors[i].thread, NULL, actor_main, &proc->actors[i]);
}

static void kill_proc(struct storm *storm, u32 nr)
{
	struct storm_proc *proc = &storm->procs[nr];
	u32 i;

	__atomic_store_n(&proc->stop, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < THREADS; i++) {
		pthread_join(proc->actors[i].thread, NULL);
		storm->lost_wakes += proc->actors[i].lost_wakes;
		storm->calls += proc->actors[i].calls;
	}
	binder_release(proc->proc);
}

/* Frees the simulated process, which other threads may use until all have ended. */
static void free_proc(struct storm_proc *proc)
{
	free(proc->actors);
	sim_proc_free(proc->sim);
}

static void run_storm(void)
{
	struct storm storm = { 0 };
	struct storm_proc dead[64];
	const char *chosen = getenv("STORM_SEED");
	u64 seed = chosen ? strtoull(chosen, NULL, 0) | 1 : 7;
	u32 nr_dead = 0, i;

	binder_world_init();
	binder_stats_world = (struct binder_stats){ 0 };
	while (!(storm.context = binder_context_new("storm")))
		;
	storm.last_pid = 1000 * (s32)(seed % 1000);
	for (i = 0; i < PROCS; i++)
		start_proc(&storm, i);
	for (i = 0; i < 40; i++) {
		u32 nr = unit_random(&seed) % PROCS;

		nanosleep(&(struct timespec){ .tv_nsec = 30 * 1000 * 1000 }, NULL);
		kill_proc(&storm, nr);
		dead[nr_dead++] = storm.procs[nr];
		start_proc(&storm, nr);
	}
	for (i = 0; i < PROCS; i++)
		kill_proc(&storm, i);
	binder_context_put(storm.context);
	for (i = 0; i < nr_dead; i++)
		free_proc(&dead[i]);
	for (i = 0; i < PROCS; i++)
		free_proc(&storm.procs[i]);
	for (i = 0; i < STAT_COUNT; i++)
		CHECK(host_atomic_read(&binder_stats_world.created[i]) ==
		      host_atomic_read(&binder_stats_world.deleted[i]));
	CHECK(storm.lost_wakes == 0);
	if (sim_verbose)
		printf("%llu calls\n", (unsigned long long)storm.calls);
	if (!CHECK(storm.calls > 2000))
		printf("only %llu calls\n", (unsigned long long)storm.calls);
}

TEST(storm_of_many_threads)
{
	run_storm();
}

TEST(storm_while_the_host_fails)
{
	sim_fail_every(97);
	run_storm();
	sim_fail_every(0);
}
