// SPDX-License-Identifier: GPL-2.0
/*
 * The text of binder_logs/{state,stats,transactions,proc/PID}, and of state_hashed and
 * transactions_hashed, which have no addresses of user space and so may be read by more users.
 *
 * Printing may sleep, so a batch (report_batch.h) of what is to be printed is copied under the
 * lock and printed after unlock. Each batch is consistent, the whole report is not.
 *
 * A report is a sequence of slices. In between, it knows where to go on by numbers: the serial
 * number of a process, which step of its report it is in, and a thread number, an address, a
 * handle, an offset there. Dead nodes have no number in order: the present one is pinned.
 *
 * `transactions` is `state` without everything that is idle: a heading is printed only when
 * a line follows under it.
 */
#include "core.h"

#include "calls/transaction.h"
#include "pure/priority_flags.h"
#include "reports/report_batch.h"
#include "reports/report_stats.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "entities/world.h"

#define SLICE_LINES 64
#define LIST_BUFFERS 32

struct binder_report {
	enum binder_report_kind kind;
	s32 pid;
	bool begun;
	struct binder_node *dead; /* the last dead node that was printed, pinned; or NULL */
	bool dead_done;
	u64 serial; /* the process's, if @in_proc; or else the last one's, and later ones follow */
	bool in_proc;
	u32 step; /* what of the process is printed next */
	bool more; /* the thread, node or list of the last batch has more lines */
	bool line_ended; /* the line of that node has its end */
	s32 tid;
	u64 ptr;
	u32 desc;
	size_t off;
	bool proc_printed;
	bool thread_printed;
	struct report_line thread; /* the heading */
	/* only while a slice is printed */
	struct host_out *out;
	struct binder_proc *proc; /* a reference; NULL: none */
	u32 lines;
	struct report_batch batch;
	struct binder_buffer_info buffers[LIST_BUFFERS];
};

static bool shows_priorities;

static bool lists_everything(const struct binder_report *r)
{
	return r->kind != REPORT_TRANSACTIONS && r->kind != REPORT_TRANSACTIONS_HASHED;
}

static bool is_hashed(const struct binder_report *r)
{
	return r->kind == REPORT_STATE_HASHED || r->kind == REPORT_TRANSACTIONS_HASHED;
}

/* ---- headings --------------------------------------------------------- */

static void print_proc_heading(struct binder_report *r)
{
	if (r->proc && !r->proc_printed)
		host_out(r->out, "proc %d\ncontext %s\n", r->proc->pid, r->proc->context->name);
	r->proc_printed = true;
}

static void print_thread_heading(struct binder_report *r)
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
 * The address or the cookie of a node. The C driver prints its keyed hash in a hashed report;
 * here it is a number made of the node's, from which nothing about the address can be derived.
 */
static unsigned long long shown_address(const struct binder_report *r, u64 address, u32 number)
{
	return is_hashed(r) && address ? hashed_id(number) : address;
}

static void print_node_name(struct binder_report *r, u32 id, u64 ptr, u64 cookie)
{
	host_out(r->out, "%u: u%016llx c%016llx", id, shown_address(r, ptr, id),
		 shown_address(r, cookie, ~id));
}

static void print_txn(struct binder_report *r, const char *what, const struct report_txn *t)
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
	[WORK_COMPLETE ... WORK_COMPLETE_SPAM] = "transaction complete",
	[WORK_DEATH] = "has dead binder",
	[WORK_DEATH_AND_CLEAR] = "has cleared dead binder",
	[WORK_DEATH_CLEARED] = "has cleared death notification",
	[WORK_FREEZE] = "has frozen binder",
	[WORK_FREEZE_CLEARED] = "has cleared freeze notification",
};

static void print_work(struct binder_report *r, const char *indent, const char *pending,
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
static void print_threads(struct binder_report *r)
{
	const struct report_batch *batch = &r->batch;
	u32 i;

	for (i = 0; i < batch->nr; i++) {
		const struct report_line *line = &batch->lines[i];

		if (line->kind == LINE_THREAD) {
			r->thread = *line;
			r->thread_printed = false;
			if (lists_everything(r))
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
static bool add_next_thread(struct binder_report *r, s32 *tid)
{
	struct binder_proc *proc = r->proc;
	const struct binder_thread *thread;

	binder_lock(&proc->inner_lock);
	thread = binder_thread_find_from_ilocked(proc, *tid);
	if (thread) {
		/* The thread of the last batch has exited since. */
		if (r->batch.skip && thread->tid != *tid)
			report_batch_first(&r->batch);
		*tid = thread->tid;
		report_batch_add_thread_ilocked(&r->batch, proc, thread);
	}
	binder_unlock(&proc->inner_lock);
	return thread;
}

/* Each step prints one batch, line or list, and returns false once there is none. */
static bool step_threads(struct binder_report *r)
{
	if (!r->more)
		report_batch_first(&r->batch);
	if (!add_next_thread(r, &r->tid))
		return false;
	print_threads(r);
	r->lines += r->batch.nr;
	r->more = report_batch_next(&r->batch);
	if (!r->more)
		r->tid++;
	return true;
}

struct node_view {
	u32 debug_id;
	u64 ptr, cookie;
	bool has_strong, has_weak, async_busy;
	u32 local_strong, local_weak, strong, weak;
	s32 pins;
	struct host_priority min_priority;
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
		.min_priority = node->min_priority,
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

static void end_node_line(struct binder_report *r)
{
	if (!r->line_ended)
		host_out(r->out, "\n");
	r->line_ended = true;
}

static void print_node(struct binder_report *r, const struct node_view *view)
{
	print_proc_heading(r);
	host_out(r->out, "  node ");
	print_node_name(r, view->debug_id, view->ptr, view->cookie);
	if (shows_priorities)
		host_out(r->out, " pri %u:%d", view->min_priority.policy,
			 binder_priority_rank(view->min_priority));
	host_out(r->out, " hs %d hw %d ls %u lw %u is %u iw %u tr %d", view->has_strong,
		 view->has_weak, view->local_strong, view->local_weak, view->strong, view->weak,
		 view->pins);
	if (view->weak)
		host_out(r->out, " proc");
	r->line_ended = false;
}

/* Prints a batch of @node, which is pinned: its line, references and one-way calls. */
static void report_node(struct binder_report *r, struct binder_node *node)
{
	struct report_batch *batch = &r->batch;
	struct node_view view;
	u32 i;

	if (!r->more)
		report_batch_first(batch);
	add_node(batch, node, &view);
	r->lines++;
	if (!lists_everything(r) && !view.async_busy) {
		r->more = false;
		return;
	}
	if (!r->more)
		print_node(r, &view);
	for (i = 0; i < batch->nr_pids; i++)
		host_out(r->out, " %d", batch->pids[i]);
	if (batch->nr || !batch->more)
		end_node_line(r);
	for (i = 0; i < batch->nr; i++)
		print_work(r, "    ", "pending async", &batch->lines[i]);
	r->lines += batch->nr + batch->nr_pids / 8;
	r->more = report_batch_next(batch);
}

static bool step_nodes(struct binder_report *r)
{
	struct binder_node *node = binder_node_find_from(r->proc, r->ptr);

	/* The node of the last batch was freed since. */
	if (r->more && (!node || node->ptr != r->ptr)) {
		end_node_line(r);
		r->more = false;
	}
	if (!node)
		return false;
	r->ptr = node->ptr;
	report_node(r, node);
	binder_node_unpin(node);
	return r->more || ++r->ptr;
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

static bool step_refs(struct binder_report *r)
{
	struct ref_view view;

	if (!lists_everything(r) || !view_next_ref(r->proc, r->desc, &view))
		return false;
	r->desc = view.desc + 1; /* BINDER_MAX_REFS is far below the largest u32 */
	host_out(r->out, "  ref %u: desc %u %snode %u s %u w %u d %016llx\n", view.debug_id,
		 view.desc, view.dead ? "dead " : "", view.node, view.strong, view.weak,
		 view.has_death ? hashed_id(view.debug_id) : 0);
	r->lines++;
	return true;
}

static bool step_buffers(struct binder_report *r)
{
	const struct binder_buffer_info *info = r->buffers;
	u32 i, nr = binder_alloc_list(&r->proc->alloc, r->off, r->buffers, LIST_BUFFERS);

	if (nr)
		print_proc_heading(r);
	for (i = 0; i < nr; i++)
		host_out(r->out, "  buffer %u: %llx size %llu:%llu:%llu %s\n", info[i].debug_id,
			 (unsigned long long)info[i].off, (unsigned long long)info[i].data_size,
			 (unsigned long long)info[i].offsets_size,
			 (unsigned long long)info[i].extra_size,
			 info[i].delivered ? "delivered" : "active");
	r->lines += nr;
	if (nr)
		r->off = info[nr - 1].off + 1;
	return nr == LIST_BUFFERS;
}

static bool step_works(struct binder_report *r)
{
	struct binder_proc *proc = r->proc;
	struct report_batch *batch = &r->batch;
	u32 i;

	if (!r->more)
		report_batch_first(batch);
	binder_lock(&proc->inner_lock);
	report_batch_add_works_ilocked(batch, proc, &proc->todo);
	binder_unlock(&proc->inner_lock);
	if (batch->nr)
		print_proc_heading(r);
	for (i = 0; i < batch->nr; i++)
		print_work(r, "  ", "pending", &batch->lines[i]);
	r->lines += batch->nr;
	r->more = report_batch_next(batch);
	return r->more;
}

static bool step_delivered(struct binder_report *r)
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
	return false;
}

static bool (*const steps[])(struct binder_report *r) = {
	step_threads, step_nodes, step_refs, step_buffers, step_works, step_delivered,
};

#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

static void begin_proc(struct binder_report *r)
{
	r->in_proc = true;
	r->serial = r->proc->serial;
	r->step = 0;
	r->more = false;
	r->tid = 0; /* the lowest; tids of the system are not negative */
	r->ptr = 0;
	r->desc = 0;
	r->off = 0;
	r->proc_printed = false;
	if (r->kind == REPORT_PROC)
		host_out(r->out, "binder proc state:\n");
	if (lists_everything(r) && r->kind != REPORT_STATS)
		print_proc_heading(r);
}

/* Prints of the process until it or the slice is complete. */
static void report_proc(struct binder_report *r)
{
	if (!r->in_proc || r->serial != r->proc->serial)
		begin_proc(r);
	r->lines++;
	if (r->kind == REPORT_STATS) {
		binder_report_stats_of(r->out, r->proc);
		r->lines += SLICE_LINES;
		r->step = NR_STEPS;
	}
	while (r->step < NR_STEPS && r->lines < SLICE_LINES) {
		if (steps[r->step](r))
			continue;
		r->step++;
		r->more = false;
	}
	r->in_proc = r->step < NR_STEPS;
}

/* ---- whole reports ----------------------------------------------------- */

static struct binder_proc *proc_of(struct bl_list *link)
{
	return bl_entry(link, struct binder_proc, world_link);
}

static bool is_due(const struct binder_report *r, const struct binder_proc *proc)
{
	if (r->pid && proc->pid != r->pid)
		return false;
	return r->in_proc ? proc->serial <= r->serial : proc->serial < r->serial;
}

/* Goes on to the process of the last slice or the next one, the last opened first. */
static bool find_proc(struct binder_report *r)
{
	struct binder_proc *last = r->proc;
	struct bl_list *link;

	binder_pi_mutex_lock(&binder_world.lock);
	link = binder_world.procs.prev;
	if (last && bl_linked(&last->world_link))
		link = &last->world_link;
	while (link != &binder_world.procs && !is_due(r, proc_of(link)))
		link = link->prev;
	r->proc = NULL;
	if (link != &binder_world.procs) {
		r->proc = proc_of(link);
		binder_proc_get(r->proc);
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	if (last)
		binder_proc_put(last);
	return r->proc;
}

/* The first dead node, or the one after the last that was printed; pinned; NULL: none. */
static struct binder_node *next_dead_node(struct binder_report *r)
{
	struct binder_node *node = NULL;
	struct bl_list *link;

	/* Under this lock a node is removed from the list before it is freed. */
	binder_pi_mutex_lock(&binder_world.lock);
	link = r->dead ? r->dead->dead_link.prev : binder_world.dead_nodes.prev;
	for (; !node && link != &binder_world.dead_nodes; link = link->prev) {
		node = bl_entry(link, struct binder_node, dead_link);
		if (!binder_node_pin_dead(node))
			node = NULL;
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	return node;
}

static void report_dead_nodes(struct binder_report *r)
{
	struct binder_node *node;

	while (!r->dead_done && r->lines < SLICE_LINES) {
		node = r->more ? r->dead : next_dead_node(r);
		if (node && !r->dead)
			host_out(r->out, "dead nodes:\n");
		if (r->dead && r->dead != node)
			binder_node_unpin(r->dead);
		r->dead = node;
		if (node)
			report_node(r, node);
		else
			r->dead_done = true;
	}
}

static void report_begin(struct binder_report *r)
{
	static const char *const headings[] = {
		[REPORT_STATE] = "binder state:\n",
		[REPORT_STATS] = "binder stats:\n",
		[REPORT_TRANSACTIONS] = "binder transactions:\n",
		[REPORT_STATE_HASHED] = "binder state:\n",
		[REPORT_TRANSACTIONS_HASHED] = "binder transactions:\n",
		[REPORT_PROC] = "",
	};

	host_out(r->out, "%s", headings[r->kind]);
	if (r->kind == REPORT_STATS)
		binder_report_stats_of_world(r->out);
	r->begun = true;
	r->lines++;
	r->dead_done = r->kind != REPORT_STATE && r->kind != REPORT_STATE_HASHED;
}

void binder_report_show_priorities(bool show)
{
	shows_priorities = show;
}

struct binder_report *binder_report_new(enum binder_report_kind kind, s32 pid)
{
	struct binder_report *r = host_alloc_large(NULL, sizeof(*r));

	if (!r)
		return NULL;
	r->kind = kind;
	r->pid = pid;
	r->serial = ~0ull;
	return r;
}

bool binder_report_next(struct binder_report *r, struct host_out *out)
{
	r->out = out;
	r->lines = 0;
	if (!r->begun)
		report_begin(r);
	report_dead_nodes(r);
	while (r->lines < SLICE_LINES && find_proc(r))
		report_proc(r);
	if (r->proc)
		binder_proc_put(r->proc);
	r->proc = NULL;
	return r->lines;
}

void binder_report_free(struct binder_report *r)
{
	if (r && r->dead)
		binder_node_unpin(r->dead);
	host_free(r);
}
