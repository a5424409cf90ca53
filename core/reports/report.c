// SPDX-License-Identifier: GPL-2.0
/*
 * The text of binder_logs/{state,transactions,proc/PID}, and of state_hashed and
 * transactions_hashed, which have no addresses of user space and so may be read by more users.
 *
 * Printing may sleep, so nothing is printed under a spinlock: a batch (report_batch.h) of
 * what is to be printed is copied under the lock and printed after unlock. So only each
 * batch is consistent, not the whole report, and no lock is held for long.
 *
 * `transactions` is `state` without everything that is idle: a heading is printed only when
 * a line follows under it.
 */
#include "core.h"
#include "calls/transaction.h"
#include "reports/report_batch.h"
#include "reports/snapshot.h"
#include "things/context.h"
#include "things/node.h"
#include "things/ref.h"
#include "things/world.h"

struct report {
	struct host_out *out;
	bool everything; /* state, proc; false: transactions */
	bool hashed;
	struct report_batch *batch;
	struct binder_proc *proc;
	bool proc_printed;
	bool thread_printed;
	struct report_line thread; /* the heading */
};

/* ---- headings --------------------------------------------------------- */

static void print_proc_heading(struct report *r)
{
	if (r->proc && !r->proc_printed)
		host_out(r->out, "proc %d\ncontext %s\n", r->proc->pid, r->proc->context->name);
	r->proc_printed = true;
}

static void print_thread_heading(struct report *r)
{
	const struct report_line *line = &r->thread;

	if (r->thread_printed)
		return;
	print_proc_heading(r);
	host_out(r->out, "  thread %d: l %02x need_return %d tr %d\n", line->thread.tid,
		 line->thread.looper, line->thread.need_return, line->thread.refs);
	r->thread_printed = true;
}

/* ---- lines ------------------------------------------------------------ */

/* A number in place of a pointer, which the kernel prints hashed. */
static unsigned long long hashed_id(u32 debug_id)
{
	return (u32)(debug_id * 2654435761u);
}

/*
 * The address or the cookie of a node. The stock driver prints its keyed hash in a hashed report;
 * here it is a number made of the node's, from which nothing about the address can be derived.
 */
static unsigned long long shown(const struct report *r, u64 address, u32 number)
{
	return r->hashed && address ? hashed_id(number) : address;
}

static void print_node_name(struct report *r, u32 id, u64 ptr, u64 cookie)
{
	host_out(r->out, "%u: u%016llx c%016llx", id, shown(r, ptr, id), shown(r, cookie, ~id));
}

static void print_txn(struct report *r, const char *what, const struct report_txn *t)
{
	unsigned long long elapsed_ms = (host_now_ns() - t->start_ns) / 1000000;

	host_out(r->out,
		 "%s transaction %u: %016llx from %d:%d to %d:%d code %x flags %x pri %d a%d r%d "
		 "elapsed %llums",
		 what, t->id, hashed_id(t->id), t->from_pid, t->from_tid, t->to_pid, t->to_tid,
		 t->code, t->flags, t->prio, t->is_async, t->is_reply, elapsed_ms);
	if (t->received && !t->has_buffer)
		host_out(r->out, " buffer free");
	if (t->received && t->has_buffer && t->node)
		host_out(r->out, " node %u", t->node);
	if (t->received && t->has_buffer)
		host_out(r->out, " size %llu:%llu offset %llx", (unsigned long long)t->data_size,
			 (unsigned long long)t->offsets_size, (unsigned long long)t->off);
	host_out(r->out, "\n");
}

static const char *const work_words[WORK_TYPES] = {
	[WORK_COMPLETE] = "transaction complete",
	[WORK_COMPLETE_FROZEN] = "transaction complete",
	[WORK_COMPLETE_SPAM] = "transaction complete",
	[WORK_DEATH] = "has dead binder",
	[WORK_DEATH_AND_CLEAR] = "has cleared dead binder",
	[WORK_DEATH_CLEARED] = "has cleared death notification",
	[WORK_FREEZE] = "has frozen binder",
	[WORK_FREEZE_CLEARED] = "has cleared freeze notification",
};

static void print_work(struct report *r, const char *indent, const char *pending,
		       const struct report_line *line)
{
	host_out(r->out, "%s", indent);
	if (line->work == WORK_TRANSACTION) {
		print_txn(r, pending, &line->txn);
	} else if (line->work == WORK_NODE) {
		host_out(r->out, "node work ");
		print_node_name(r, line->node.id, line->node.ptr, line->node.cookie);
		host_out(r->out, "\n");
	} else if (line->work == WORK_ERROR) {
		host_out(r->out, "transaction error: %u\n", line->error);
	} else {
		host_out(r->out, "%s\n", work_words[line->work]);
	}
}

/* Prints a batch of threads. */
static void print_threads(struct report *r)
{
	const struct report_batch *batch = r->batch;
	u32 i;

	for (i = 0; i < batch->nr; i++) {
		const struct report_line *line = &batch->lines[i];

		if (line->kind == LINE_THREAD) {
			r->thread = *line;
			r->thread_printed = false;
			if (r->everything)
				print_thread_heading(r);
			continue;
		}
		print_thread_heading(r);
		if (line->kind == LINE_STACK) {
			host_out(r->out, "    ");
			print_txn(r, line->role, &line->txn);
		} else {
			print_work(r, "    ", "pending", line);
		}
	}
}

/* ---- one process ------------------------------------------------------- */

/* Fills a batch with the first thread from *@tid on; false if there is none. */
static bool add_next_thread(struct report *r, s32 *tid)
{
	struct binder_proc *proc = r->proc;
	const struct binder_thread *thread;

	binder_lock(&proc->inner_lock);
	thread = binder_thread_find_from_ilocked(proc, *tid);
	if (thread) {
		/* The thread of the last batch has exited since. */
		if (r->batch->skip && thread->tid != *tid)
			report_batch_first(r->batch);
		*tid = thread->tid;
		report_batch_add_thread_ilocked(r->batch, proc, thread);
	}
	binder_unlock(&proc->inner_lock);
	return thread;
}

static void report_threads(struct report *r)
{
	s32 tid = 0; /* the lowest; tids of the system are not negative */

	report_batch_first(r->batch);
	while (add_next_thread(r, &tid)) {
		print_threads(r);
		if (!report_batch_next(r->batch)) {
			report_batch_first(r->batch);
			tid++;
		}
	}
}

struct node_view {
	u32 debug_id;
	u64 ptr, cookie;
	bool has_strong, has_weak, async_busy;
	u32 local_strong, local_weak, strong, weak;
	s32 pins;
};

/* Describes @node in *@view, and adds its references and its one-way calls to the batch. */
static void add_node(struct report_batch *batch, struct binder_node *node, struct node_view *view)
{
	struct binder_proc *proc;

	binder_lock(&node->lock);
	*view = (struct node_view){
		.debug_id = node->debug_id,
		.ptr = node->ptr,
		.cookie = node->cookie,
		.has_strong = node->has_strong,
		.has_weak = node->has_weak,
		.async_busy = node->async_busy,
		.local_strong = node->local_strong,
		.local_weak = node->local_weak,
		.strong = node->internal_strong,
		.pins = host_atomic_read(&node->pins) - node->local_pins,
	};
	view->weak = report_batch_add_pids_nlocked(batch, node);
	proc = node->proc;
	/* All references come before the calls. */
	if (proc && !batch->more) {
		binder_lock(&proc->inner_lock);
		report_batch_add_works_ilocked(batch, proc, &node->async_todo);
		binder_unlock(&proc->inner_lock);
	}
	binder_unlock(&node->lock);
}

/*
 * @node cannot be freed meanwhile. @dead: it is on the list of dead nodes, where it needs no
 * pin; the report of the stock driver always shows one.
 */
static void report_node(struct report *r, struct binder_node *node, bool dead)
{
	struct report_batch *batch = r->batch;
	struct node_view view;
	bool ended = false; /* the line of the node */
	u32 i;

	report_batch_first(batch);
	add_node(batch, node, &view);
	if (!r->everything && !view.async_busy)
		return;
	print_proc_heading(r);
	host_out(r->out, "  node ");
	print_node_name(r, view.debug_id, view.ptr, view.cookie);
	host_out(r->out, " hs %d hw %d ls %u lw %u is %u iw %u tr %d", view.has_strong,
		 view.has_weak, view.local_strong, view.local_weak, view.strong, view.weak,
		 view.pins + dead);
	if (view.weak)
		host_out(r->out, " proc");
	for (;;) {
		bool more = batch->more;

		for (i = 0; i < batch->nr_pids; i++)
			host_out(r->out, " %d", batch->pids[i]);
		if (!ended && (batch->nr || !more)) {
			host_out(r->out, "\n");
			ended = true;
		}
		for (i = 0; i < batch->nr; i++)
			print_work(r, "    ", "pending async", &batch->lines[i]);
		if (!report_batch_next(batch))
			break;
		add_node(batch, node, &view);
	}
}

static void report_nodes(struct report *r)
{
	struct binder_node *node;
	u64 ptr = 0;

	while ((node = binder_node_find_from(r->proc, ptr))) {
		ptr = node->ptr + 1;
		report_node(r, node, false);
		binder_node_unpin(node);
		if (!ptr)
			return;
	}
}

struct ref_view {
	u32 debug_id, desc, node, strong, weak;
	bool dead, has_death;
};

/* Describes the first reference from handle @desc on; false if there is none. */
static bool view_next_ref(struct binder_proc *proc, u32 desc, struct ref_view *view)
{
	const struct binder_ref *ref;
	struct binder_node *node;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_from_olocked(proc, desc);
	if (ref) {
		node = ref->node;
		binder_lock(&node->lock);
		*view = (struct ref_view){
			.debug_id = ref->debug_id,
			.desc = ref->desc,
			.node = node->debug_id,
			.strong = ref->strong,
			.weak = ref->weak,
			.dead = !node->proc,
			.has_death = ref->death,
		};
		binder_unlock(&node->lock);
	}
	binder_unlock(&proc->outer_lock);
	return ref;
}

static void report_refs(struct report *r)
{
	struct ref_view view;
	u32 desc = 0;

	while (view_next_ref(r->proc, desc, &view)) {
		desc = view.desc + 1; /* BINDER_MAX_REFS is far below the largest u32 */
		host_out(r->out, "  ref %u: desc %u %snode %u s %u w %u d %016llx\n",
			 view.debug_id, view.desc, view.dead ? "dead " : "", view.node,
			 view.strong, view.weak, view.has_death ? hashed_id(view.debug_id) : 0);
	}
}

static void report_buffers(struct report *r)
{
	struct binder_alloc *alloc = &r->proc->alloc;
	struct binder_alloc_stats stats;
	struct binder_buffer_info *info;
	u32 i, nr;

	binder_alloc_get_stats(alloc, &stats);
	if (!stats.buffers)
		return;
	info = host_alloc_large(NULL, stats.buffers * sizeof(*info));
	if (!info)
		return;
	nr = binder_alloc_list(alloc, info, (u32)stats.buffers);
	if (nr)
		print_proc_heading(r);
	for (i = 0; i < nr; i++)
		host_out(r->out, "  buffer %u: %llx size %llu:%llu:%llu %s\n", info[i].debug_id,
			 (unsigned long long)info[i].off, (unsigned long long)info[i].data_size,
			 (unsigned long long)info[i].offsets_size,
			 (unsigned long long)info[i].extra_size,
			 info[i].delivered ? "delivered" : "active");
	host_free(info);
}

static void report_works(struct report *r)
{
	struct binder_proc *proc = r->proc;
	struct report_batch *batch = r->batch;
	u32 i;

	report_batch_first(batch);
	do {
		binder_lock(&proc->inner_lock);
		report_batch_add_works_ilocked(batch, proc, &proc->todo);
		binder_unlock(&proc->inner_lock);
		if (batch->nr)
			print_proc_heading(r);
		for (i = 0; i < batch->nr; i++)
			print_work(r, "  ", "pending", &batch->lines[i]);
	} while (report_batch_next(batch));
}

static void report_delivered(struct report *r)
{
	struct binder_proc *proc = r->proc;
	bool death, freeze;

	binder_lock(&proc->inner_lock);
	death = !bl_empty(&proc->delivered_death);
	freeze = !bl_empty(&proc->delivered_freeze);
	binder_unlock(&proc->inner_lock);
	if (death || freeze)
		print_proc_heading(r);
	if (death)
		host_out(r->out, "  has delivered dead binder\n");
	if (freeze)
		host_out(r->out, "  has delivered freeze binder\n");
}

static void report_proc(struct report *r, struct binder_proc *proc)
{
	r->proc = proc;
	r->proc_printed = false;
	if (r->everything)
		print_proc_heading(r);
	report_threads(r);
	report_nodes(r);
	if (r->everything)
		report_refs(r);
	report_buffers(r);
	report_works(r);
	report_delivered(r);
}

/* ---- whole reports ----------------------------------------------------- */

static void report_dead_nodes(struct report *r)
{
	struct bl_list *link;

	r->proc = NULL;
	/* Under this lock a node is removed from the list before it is freed. */
	binder_pi_mutex_lock(&binder_world.lock);
	if (!bl_empty(&binder_world.dead_nodes))
		host_out(r->out, "dead nodes:\n");
	for (link = binder_world.dead_nodes.prev; link != &binder_world.dead_nodes;
	     link = link->prev)
		report_node(r, bl_entry(link, struct binder_node, dead_link), true);
	binder_pi_mutex_unlock(&binder_world.lock);
}

/* Prints @heading and the report of each open by process @pid, or of all if it is 0. */
static void report_procs(struct report *r, s32 pid, const char *heading)
{
	struct binder_snapshot snapshot;
	u32 i;

	if (binder_snapshot_take(&snapshot))
		return;
	for (i = 0; i < snapshot.nr; i++) {
		if (pid && snapshot.procs[i]->pid != pid)
			continue;
		host_out(r->out, "%s", heading);
		report_proc(r, snapshot.procs[i]);
	}
	binder_snapshot_drop(&snapshot);
}

static void report_all(struct host_out *out, bool everything, bool hashed)
{
	struct report r = { .out = out, .everything = everything, .hashed = hashed };

	r.batch = host_alloc_large(NULL, sizeof(*r.batch));
	if (!r.batch)
		return;
	host_out(out, everything ? "binder state:\n" : "binder transactions:\n");
	if (everything)
		report_dead_nodes(&r);
	report_procs(&r, 0, "");
	host_free(r.batch);
}

void binder_report_state(struct host_out *out)
{
	report_all(out, true, false);
}

void binder_report_state_hashed(struct host_out *out)
{
	report_all(out, true, true);
}

void binder_report_transactions(struct host_out *out)
{
	report_all(out, false, false);
}

void binder_report_transactions_hashed(struct host_out *out)
{
	report_all(out, false, true);
}

void binder_report_proc(struct host_out *out, s32 pid)
{
	struct report r = { .out = out, .everything = true };

	r.batch = host_alloc_large(NULL, sizeof(*r.batch));
	if (!r.batch)
		return;
	report_procs(&r, pid, "binder proc state:\n");
	host_free(r.batch);
}

void binder_report_pids(void (*fn)(void *arg, s32 pid), void *arg)
{
	struct binder_snapshot snapshot;
	u32 i, j;

	if (binder_snapshot_take(&snapshot))
		return;
	for (i = 0; i < snapshot.nr; i++) {
		for (j = 0; j < i && snapshot.procs[j]->pid != snapshot.procs[i]->pid; j++)
			;
		if (j == i)
			fn(arg, snapshot.procs[i]->pid);
	}
	binder_snapshot_drop(&snapshot);
}
