// SPDX-License-Identifier: GPL-2.0
/*
 * Does what the entry of a host does: looks up the thread of each call, copies the argument
 * in and out, parks a call that would block and resumes it when its thread was woken, and
 * repeats a call where the engine asks for it.
 */
#include "world.h"

#include "state/state_stream.h"

#include <stdio.h>
#include <stdlib.h>

static s32 last_pid;

/* For errors of the test. */
static void __attribute__((noreturn)) world_stop(const char *what)
{
	fprintf(stderr, "world: %s\n", what);
	abort();
}

static struct world *running;

static struct sim_thread *find_sim_thread(struct sim_proc *sim, s32 tid)
{
	u32 i, k;

	for (i = 0; i < running->nr_procs; i++) {
		for (k = 0; k < running->procs[i]->nr_threads; k++) {
			struct world_thread *t = running->procs[i]->threads[k];

			if (t->proc->sim == sim && t->tid == tid)
				return &t->sim;
		}
	}
	return NULL;
}

bool world_begin(struct world *w)
{
	*w = (struct world){ 0 };
	last_pid = 100;
	binder_world_init();
	binder_stats_world = (struct binder_stats){ 0 };
	w->context = binder_context_new("test");
	sim_device = w->context;
	sim_thread_of = find_sim_thread;
	running = w;
	return w->context != NULL;
}

struct world_proc *world_proc(struct world *w)
{
	struct world_proc *proc = calloc(1, sizeof(*proc));

	last_pid += 100;
	proc->sim = sim_proc_new(last_pid, 1000, WORLD_MAP_SIZE);
	if (w->context && binder_open(w->context, proc->sim, &proc->proc))
		proc->proc = NULL;
	w->procs[w->nr_procs++] = proc;
	return proc;
}

struct world_thread *world_thread(struct world_proc *proc)
{
	struct world_thread *t = calloc(1, sizeof(*t));

	t->proc = proc;
	t->tid = proc->sim->pid + (s32)proc->nr_threads;
	t->sim.proc = proc->sim;
	t->sim.priority = &t->priority;
	t->out_at = world_memory(proc, NULL, WORLD_IO_SIZE);
	t->in_at = world_memory(proc, NULL, WORLD_IO_SIZE);
	proc->threads[proc->nr_threads++] = t;
	return t;
}

void world_kill(struct world_proc *proc)
{
	u32 i;

	if (!proc->proc)
		return;
	for (i = 0; i < proc->nr_threads; i++)
		if (proc->threads[i]->parked)
			world_resume(proc->threads[i], RESUME_INTERRUPTED);
	for (i = 0; i < proc->nr_threads; i++)
		if (proc->threads[i]->parked)
			world_stop("a signal did not end a parked call");
	binder_release(proc->proc);
	proc->proc = NULL;
}

static bool nothing_left(void)
{
	const struct binder_stats *stats = &binder_stats_world;
	bool good = true;
	int i;

	for (i = 0; i < STAT_COUNT; i++) {
		s32 made = host_atomic_read(&stats->created[i]);
		s32 gone = host_atomic_read(&stats->deleted[i]);

		if (made == gone)
			continue;
		printf("objects of kind %d: %d created, %d deleted\n", i, made, gone);
		good = false;
	}
	return good;
}

bool world_end(struct world *w)
{
	u32 i, j;

	for (i = 0; i < w->nr_procs; i++)
		world_kill(w->procs[i]);
	for (i = 0; i < w->nr_procs; i++) {
		for (j = 0; j < w->procs[i]->nr_threads; j++)
			free(w->procs[i]->threads[j]);
		sim_proc_free(w->procs[i]->sim);
		free(w->procs[i]);
	}
	if (w->context)
		binder_context_put(w->context);
	return nothing_left();
}

u64 world_memory(struct world_proc *proc, const void *data, size_t size)
{
	u64 at = SIM_BASE + proc->memory_used;

	proc->memory_used += (size + 7) & ~(size_t)7;
	if (proc->memory_used > SIM_MEMORY)
		world_stop("the memory of a process is used up");
	if (data)
		sim_write(proc->sim, at, data, size);
	return at;
}

/* Appends the returns of a BINDER_WRITE_READ to t->in. */
static void collect_returns(struct world_thread *t)
{
	size_t size = t->arg.bwr.read_consumed;

	if (size > WORLD_IO_SIZE || size > sizeof(t->in) - t->in_len)
		world_stop("too many returns that the test has not consumed");
	sim_read(t->proc->sim, t->in + t->in_len, t->in_at, size);
	t->in_len += size;
	t->arg.bwr.read_consumed = 0;
}

/* ---- handing over ------------------------------------------------------------------------ */

bool world_hands_over;

int world_write_state(struct binder_state *state)
{
	int err = binder_state_write(BINDER_STATE_VERSION, state);

	if (!err)
		sim_state_keep(state);
	return err;
}

/* A thread that waits is parked, with the call that it was parked with, or with a read. */
static void relink_thread(struct world_thread *t)
{
	struct binder_thread *thread = binder_thread_find(t->proc->proc, t->tid);
	bool waits = thread && (thread->wait == WAIT_READ || thread->wait == WAIT_FREEZE);

	if (waits && !t->parked) {
		t->cmd = thread->wait == WAIT_READ ? BINDER_WRITE_READ : BINDER_FREEZE;
		t->arg.bwr = (struct binder_write_read){ .read_size = WORLD_IO_SIZE,
							 .read_buffer = t->in_at };
	}
	t->parked = waits ? thread : NULL;
	if (waits)
		binder_thread_get(thread);
}

static void drop_engine(struct world *w)
{
	sim_state_drop();
	w->context = sim_device;
}

static void world_relink(struct world *w)
{
	u32 i, k;

	for (i = 0; i < w->nr_procs; i++) {
		struct world_proc *proc = w->procs[i];
		struct host_proc *restored = proc->sim->restored;

		proc->proc = restored ? binder_proc_of_host(restored) : NULL;
		for (k = 0; proc->proc && k < proc->nr_threads; k++)
			relink_thread(proc->threads[k]);
	}
}

void world_restore_state(struct world *w, const struct binder_state *state)
{
	struct host_out why = { NULL };
	struct binder_state again;

	drop_engine(w);
	if (binder_state_restore(state->bytes, state->size, &why))
		world_stop(why.text);
	if (world_write_state(&again))
		world_stop("no memory to hand over");
	if (!binder_state_lost &&
	    (state->size != again.size || memcmp(state->bytes, again.bytes, again.size)))
		world_stop("the restored world is not the one that was written");
	free(again.bytes);
	sim_state_forget();
	binder_state_settle();
	world_relink(w);
}

void world_forget(struct world *w)
{
	u32 i, k;

	drop_engine(w);
	for (i = 0; i < w->nr_procs; i++) {
		w->procs[i]->proc = NULL;
		memset(w->procs[i]->sim->present, true, WORLD_MAP_SIZE / 4096);
		for (k = 0; k < w->procs[i]->nr_threads; k++)
			w->procs[i]->threads[k]->parked = NULL;
	}
}

static void end_restored(struct binder_proc *proc)
{
	struct binder_freeze_info none = { 0 };
	struct bt_node *n;

	for (n = bt_first(&proc->threads); n; n = bt_next(n)) {
		struct binder_thread *thread = bt_entry(n, struct binder_thread, by_tid);

		if (thread->freeze_target)
			binder_resume(thread, BINDER_FREEZE, &none, RESUME_INTERRUPTED);
	}
	binder_release(proc);
}

bool world_try_state(const u8 *bytes, size_t size)
{
	u32 allocs = sim_stats.allocs;
	struct host_out why = { NULL };
	int err = binder_state_restore(bytes, size, &why);

	if (err && !why.text)
		world_stop("a state is refused without a word");
	free(why.text);
	if (!err) {
		binder_state_settle();
		while (!bl_empty(&binder_world.procs))
			end_restored(bl_entry(binder_world.procs.next, struct binder_proc,
					      world_link));
		if (sim_stats.allocs != allocs)
			world_stop("a state that was restored leaves memory behind");
	}
	drop_engine(running);
	return !err;
}

void world_hand_over(struct world *w)
{
	struct binder_state state;

	if (world_write_state(&state))
		world_stop("no memory to hand over");
	world_restore_state(w, &state);
	free(state.bytes);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* The thread leaves the driver for a moment, and comes back: it may be handed over meanwhile. */
static struct binder_thread *leave_ioctl(struct world_thread *t, struct binder_thread *thread)
{
	if (!world_hands_over)
		return thread;
	world_hand_over(running);
	thread = binder_thread_find(t->proc->proc, t->tid);
	if (!thread)
		world_stop("a thread in the midst of a call is not restored");
	binder_thread_get(thread);
	return thread;
}

/* A call of @thread, on which the caller has a reference, returned @result. */
static int finish_ioctl(struct world_thread *t, struct binder_thread *thread, int result)
{
	while (result == BINDER_RESTART || result == BINDER_AGAIN) {
		thread = leave_ioctl(t, thread);
		if (result == BINDER_RESTART)
			result = binder_ioctl(thread, t->cmd, &t->arg, false);
		else
			result = binder_resume(thread, t->cmd, &t->arg, RESUME_WOKEN);
	}
	if (result == BINDER_WOULD_BLOCK) {
		t->parked = thread;
		return result;
	}
	t->parked = NULL;
	t->result = result;
	if (t->cmd == BINDER_WRITE_READ)
		collect_returns(t);
	binder_thread_put(thread);
	return result;
}

static int start_ioctl(struct world_thread *t, u32 cmd, bool nonblock)
{
	struct binder_thread *thread;

	if (t->parked)
		world_stop("a call by a thread whose previous call is parked");
	t->cmd = cmd;
	if (!t->proc->proc)
		return -ENODEV;
	if (world_hands_over)
		world_hand_over(running);
	thread = binder_thread_find_or_new(t->proc->proc, t->tid, &t->sim);
	if (!thread)
		return -ENOMEM;
	t->sim.woken = false;
	return finish_ioctl(t, thread, binder_ioctl(thread, cmd, &t->arg, nonblock));
}

int world_ioctl(struct world_thread *t, u32 cmd, void *arg)
{
	size_t size = ABI_IOC_SIZE(cmd);
	int result;

	if (size > sizeof(t->arg))
		world_stop("an ioctl with too long an argument");
	host_memset(&t->arg, 0, sizeof(t->arg));
	if (arg)
		host_memcpy(&t->arg, arg, size);
	result = start_ioctl(t, cmd, false);
	if (arg && result != BINDER_WOULD_BLOCK)
		host_memcpy(arg, &t->arg, size);
	return result;
}

void world_command(struct world_thread *t, u32 bc, const void *arg)
{
	size_t size = ABI_IOC_SIZE(bc);

	if (t->out_len + sizeof(bc) + size > WORLD_IO_SIZE)
		world_stop("too many commands for one write");
	sim_write(t->proc->sim, t->out_at + t->out_len, &bc, sizeof(bc));
	if (size)
		sim_write(t->proc->sim, t->out_at + t->out_len + sizeof(bc), arg, size);
	t->out_len += sizeof(bc) + size;
}

static int write_read(struct world_thread *t, u64 read_size, bool nonblock)
{
	t->arg.bwr = (struct binder_write_read){
		.write_size = t->out_len,
		.write_buffer = t->out_at,
		.read_size = read_size,
		.read_buffer = t->in_at,
	};
	t->out_len = 0;
	return start_ioctl(t, BINDER_WRITE_READ, nonblock);
}

int world_write_read(struct world_thread *t, bool read)
{
	return write_read(t, read ? WORLD_IO_SIZE : 0, false);
}

int world_poll_read(struct world_thread *t)
{
	return write_read(t, WORLD_IO_SIZE, true);
}

int world_resume(struct world_thread *t, enum binder_resume_reason why)
{
	struct binder_thread *thread;

	if (world_hands_over)
		world_hand_over(running);
	thread = t->parked;
	t->sim.woken = false;
	return finish_ioctl(t, thread, binder_resume(thread, t->cmd, &t->arg, why));
}

/* Resumes each woken thread once; false if there was none. */
static bool resume_woken(struct world *w)
{
	bool any = false;
	u32 i, j;

	for (i = 0; i < w->nr_procs; i++) {
		for (j = 0; j < w->procs[i]->nr_threads; j++) {
			struct world_thread *t = w->procs[i]->threads[j];

			if (!t->parked || !t->sim.woken)
				continue;
			world_resume(t, RESUME_WOKEN);
			any = true;
		}
	}
	return any;
}

void world_run(struct world *w)
{
	u32 rounds = 0;

	while (resume_woken(w))
		if (++rounds > 10000)
			world_stop("threads are woken without end");
}

u32 world_next(struct world_thread *t, void *arg)
{
	while (t->in_len) {
		size_t size;
		u32 br;

		host_memcpy(&br, t->in, sizeof(br));
		size = ABI_IOC_SIZE(br);
		if (sizeof(br) + size > t->in_len)
			world_stop("an incomplete return");
		if (arg)
			host_memcpy(arg, t->in + sizeof(br), size);
		t->in_len -= sizeof(br) + size;
		memmove(t->in, t->in + sizeof(br) + size, t->in_len);
		if (br != BR_NOOP)
			return br;
	}
	return 0;
}

static void put_transaction(struct world_thread *t, const struct world_call *call, bool reply)
{
	struct binder_transaction_data_sg sg = {
		.transaction_data = {
			.target.handle = call->handle,
			.code = call->code,
			.flags = call->flags,
			.data_size = call->size,
			.offsets_size = call->nr_offsets * sizeof(u64),
			.data.ptr.buffer = world_memory(t->proc, call->data, call->size),
			.data.ptr.offsets = world_memory(t->proc, call->offsets,
							 call->nr_offsets * sizeof(u64)),
		},
		.buffers_size = call->buffers_size,
	};

	if (call->buffers_size)
		world_command(t, reply ? BC_REPLY_SG : BC_TRANSACTION_SG, &sg);
	else
		world_command(t, reply ? BC_REPLY : BC_TRANSACTION, &sg.transaction_data);
}

void world_call(struct world_thread *t, const struct world_call *call)
{
	put_transaction(t, call, false);
}

void world_reply(struct world_thread *t, const struct world_call *call)
{
	put_transaction(t, call, true);
}

void world_free_buffer(struct world_thread *t, const struct binder_transaction_data *tr)
{
	world_command(t, BC_FREE_BUFFER, &tr->data.ptr.buffer);
}

int world_become_manager(struct world_thread *t)
{
	s32 unused = 0;

	return world_ioctl(t, BINDER_SET_CONTEXT_MGR, &unused);
}
