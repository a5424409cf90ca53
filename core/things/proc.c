// SPDX-License-Identifier: GPL-2.0
/*
 * The beginning and the end of a process.  The end is the delicate part: the
 * process is marked dead under its inner lock, after which nobody can queue
 * work for it; then what it owned is taken apart piece by piece, each piece
 * under its own locks, while others may still be looking at it.  The order is
 * from the outside in: who manages the context, the threads (their callers are
 * told), the work, the buffers (which give back their counts), the nodes (their
 * holders are told), the handles.
 */
#include "things/proc.h"

#include "notices/death.h"
#include "notices/freeze.h"
#include "common/cover.h"
#include "common/limits.h"
#include "things/context.h"
#include "things/node.h"
#include "calls/inherit.h"
#include "things/ref.h"
#include "calls/transaction.h"

struct binder_proc *binder_proc_new(struct binder_context *context) NO_TSA
{
	struct binder_proc *proc = host_alloc_large(sizeof(*proc));

	if (!proc)
		return NULL;
	host_atomic_set(&proc->refs, 1);
	binder_context_get(context);
	proc->context = context;
	bl_init(&proc->world_link);
	binder_lock_init(&proc->outer_lock, RANK_OUTER);
	binder_lock_init(&proc->inner_lock, RANK_INNER);
	bm_init(&proc->descs);
	bl_init(&proc->todo);
	bl_init(&proc->waiting_threads);
	bl_init(&proc->delivered_death);
	bl_init(&proc->delivered_freeze);
	bl_init(&proc->freeze_waiters);
	binder_alloc_init(&proc->alloc);
	return proc;
}

void binder_proc_free(struct binder_proc *proc) NO_TSA /* not visible to other threads any more */
{
	binder_alloc_destroy(&proc->alloc);
	host_free(proc->descs.words);
	binder_lock_destroy(&proc->outer_lock);
	binder_lock_destroy(&proc->inner_lock);
	binder_context_put(proc->context);
	host_free(proc);
}

void binder_proc_get(struct binder_proc *proc)
{
	host_atomic_add(&proc->refs, 1);
}

void binder_proc_put(struct binder_proc *proc)
{
	if (host_atomic_add_return(&proc->refs, -1))
		return;
	host_proc_destroy(&proc->host, &proc->alloc.map);
	binder_proc_free(proc);
}

bool binder_proc_add_notice(struct binder_proc *proc)
{
	if (host_atomic_add_return(&proc->nr_notices, 1) <= BINDER_MAX_NOTICES)
		return true;
	binder_proc_drop_notice(proc);
	return false;
}

void binder_proc_drop_notice(struct binder_proc *proc)
{
	host_atomic_add_return(&proc->nr_notices, -1);
}

static void release_threads(struct binder_proc *proc)
{
	for (;;) {
		struct binder_thread *thread = NULL;
		struct bt_node *n;

		binder_lock(&proc->inner_lock);
		n = bt_first(&proc->threads);
		if (n) {
			thread = bt_entry(n, struct binder_thread, by_tid);
			binder_thread_get(thread);
		}
		binder_unlock(&proc->inner_lock);
		if (!thread)
			return;
		binder_thread_release(proc, thread);
		binder_thread_put(thread);
	}
}

static void release_nodes(struct binder_proc *proc)
{
	for (;;) {
		struct binder_node *node = NULL;
		struct bt_node *n;

		binder_lock(&proc->inner_lock);
		n = bt_first(&proc->nodes);
		if (n) {
			node = bt_entry(n, struct binder_node, by_ptr);
			binder_node_pin(node);
			bt_erase(&proc->nodes, n);
			proc->nr_nodes--;
			bl_del(&node->work.link);
		}
		binder_unlock(&proc->inner_lock);
		if (!node)
			return;
		binder_node_orphan(node);
	}
}

static void release_buffers(struct binder_proc *proc)
{
	struct binder_buffer *buffer;

	while ((buffer = binder_alloc_first_buffer(&proc->alloc))) {
		binder_lock(&proc->inner_lock);
		if (buffer->transaction)
			buffer->transaction->buffer = NULL;
		buffer->transaction = NULL;
		binder_unlock(&proc->inner_lock);
		binder_buffer_forget_refs(buffer);
		binder_trace_buffer(HOST_TRACE_BUFFER_FREED, buffer);
		binder_buffer_release(proc, NULL, buffer);
	}
}

static bool is_dead(struct binder_proc *proc)
{
	bool dead;

	binder_lock(&proc->inner_lock);
	dead = proc->is_dead;
	binder_unlock(&proc->inner_lock);
	return dead;
}

/* Works that a dying thing leaves; each type says what becomes of it. */
static void drop_transaction(struct binder_work *work)
{
	static const struct binder_result died = { .ret = BR_DEAD_REPLY, .err = -ESRCH,
						   .why = "the process that it was for died" };

	struct binder_transaction *t = bl_entry(&work->link, struct binder_transaction, work.link);
	struct binder_proc *proc = t->to_proc;
	struct binder_buffer *buffer = binder_transaction_detach_buffer(t);

	/* Its receiver never heard of the buffer, so nobody else will free it. */
	if (buffer) {
		if (buffer->async && buffer->target_node)
			binder_oneway_next(buffer->target_node);
		if (is_dead(proc))
			binder_buffer_forget_refs(buffer);
		else
			BINDER_COVER(UNREAD_CALL_OF_THE_LIVING);
		binder_trace_buffer(HOST_TRACE_BUFFER_FREED, buffer);
		binder_buffer_release(proc, NULL, buffer);
	}
	binder_transaction_drop(t, &died);
}

static void drop_completion(struct binder_work *work)
{
	host_free(work);
	binder_stats_deleted(STAT_COMPLETE);
}

static void drop_death(struct binder_work *work)
{
	binder_death_free(bl_entry(&work->link, struct binder_death, work.link));
}

static void drop_freeze(struct binder_work *work)
{
	binder_freeze_free(bl_entry(&work->link, struct binder_freeze, work.link));
}

/* Absent: it belongs to something that lives on (a thread's error, a node, a
 * registration that its ref still owns). */
static void (*const drop[WORK_TYPES])(struct binder_work *) = {
	[WORK_TRANSACTION] = drop_transaction,
	[WORK_COMPLETE] = drop_completion,
	[WORK_COMPLETE_FROZEN] = drop_completion,
	[WORK_COMPLETE_SPAM] = drop_completion,
	[WORK_DEATH_AND_CLEAR] = drop_death,
	[WORK_DEATH_CLEARED] = drop_death,
	[WORK_FREEZE_CLEARED] = drop_freeze,
};

/* Takes the next piece of work out; NULL if it lives on: then others may take away what it
 * is embedded in (a node, a registration) as soon as the lock is let go. */
static struct binder_work *pop_work(struct bl_list *todo)
{
	struct binder_work *work = bl_entry(bl_pop(todo), struct binder_work, link);

	if (drop[work->type])
		return work;
	BINDER_COVER(WORK_LIVES_ON);
	return NULL;
}

/* Takes the next out of the list.  False: there was none. */
static bool take_work(struct bl_list *todo, struct binder_work **work)
{
	bool any = !bl_empty(todo);

	*work = any ? pop_work(todo) : NULL;
	return any;
}

static bool take_work_locking(struct binder_proc *proc, struct bl_list *todo,
			      struct binder_work **work)
{
	bool any;

	binder_lock(&proc->inner_lock);
	any = take_work(todo, work);
	binder_unlock(&proc->inner_lock);
	return any;
}

void binder_release_works(struct binder_proc *proc, struct bl_list *todo)
{
	struct binder_work *work;

	while (proc ? take_work_locking(proc, todo, &work) : take_work(todo, &work)) {
		if (work)
			drop[work->type](work);
	}
}

/* The lists that hang on the process itself. */
static void release_lists(struct binder_proc *proc)
{
	binder_release_works(proc, &proc->todo);
	binder_release_works(proc, &proc->delivered_death);
	binder_release_works(proc, &proc->delivered_freeze);
}

void binder_proc_release(struct binder_proc *proc)
{
	binder_pi_mutex_lock(&binder_world.lock);
	bl_del(&proc->world_link);
	binder_stats_add(&binder_world.stats, &proc->stats);
	binder_pi_mutex_unlock(&binder_world.lock);
	binder_context_lose_manager(proc);

	binder_lock(&proc->inner_lock);
	proc->is_dead = true;
	proc->is_frozen = false;
	proc->sync_recv = false;
	proc->async_recv = false;
	binder_proc_idle_ilocked(proc);
	binder_unlock(&proc->inner_lock);

	release_threads(proc);
	release_lists(proc);
	release_buffers(proc);
	release_nodes(proc);
	binder_ref_release_all(proc);
	release_lists(proc);
	binder_stats_deleted(STAT_PROC);
	binder_proc_put(proc);
}
