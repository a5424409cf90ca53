// SPDX-License-Identifier: GPL-2.0
/*
 * A process that ends is marked dead under its inner lock, after which no work can be queued
 * for it. Then what it owned is released piece by piece, each under its own locks, while
 * other parties may still look at it, from the outside in: its role as context manager, the
 * threads (their callers get an error), the work, the buffers (with their references), the
 * nodes (their death is notified), the handles.
 *
 * Tested in: tests/drivers/conformance/death_call.c
 */
#include "entry/exit.h"

#include "calls/buffer.h"
#include "calls/oneway.h"
#include "calls/transaction.h"
#include "common/cover.h"
#include "notices/death.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/ref.h"
#include "entities/thread.h"
#include "entities/world.h"

/* ---- work that will not be read ---------------------------------------------------- */

static bool is_dead(struct binder_proc *proc)
{
	bool dead;

	binder_lock(&proc->inner_lock);
	dead = proc->is_dead;
	binder_unlock(&proc->inner_lock);
	return dead;
}

static void drop_transaction(struct binder_work *work)
{
	static const struct binder_result died = { .ret = BR_DEAD_REPLY, .err = -ESRCH,
						   .why = "the receiver died" };

	struct binder_transaction *t = bl_entry(&work->link, struct binder_transaction, work.link);
	struct binder_proc *proc = t->to_proc;
	struct binder_buffer *buffer = binder_transaction_detach(t);

	/* The buffer was not delivered, so the receiver cannot free it. */
	if (buffer) {
		if (buffer->async && buffer->target_node)
			binder_oneway_next(buffer->target_node);
		if (is_dead(proc))
			binder_buffer_forget_refs(buffer);
		else
			BINDER_COVER(THREAD_ENDS_CALL_UNREAD);
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

static void drop_notice(struct binder_work *work)
{
	binder_notice_free(bl_entry(&work->link, struct binder_notice, work.link));
}

/*
 * No entry: the work belongs to something that lives on (a thread's error, a node, a
 * notice that its reference still owns).
 */
static void (*const drop[WORK_TYPES])(struct binder_work *) = {
	[WORK_TRANSACTION] = drop_transaction,
	[WORK_COMPLETE] = drop_completion,
	[WORK_COMPLETE_FROZEN] = drop_completion,
	[WORK_COMPLETE_SPAM] = drop_completion,
	[WORK_DEATH_AND_CLEAR] = drop_notice,
	[WORK_DEATH_CLEARED] = drop_notice,
	[WORK_FREEZE_CLEARED] = drop_notice,
};

/*
 * Dequeues work until there is some to drop; NULL: none is left. Work that lives on may be
 * freed by its owner as soon as the lock is released, so it is not looked at afterwards. What a
 * node has to tell the process is told by another thread.
 */
static struct binder_work *pop_droppable(struct binder_proc *proc, struct bl_list *todo)
{
	struct binder_work *work = NULL;

	binder_lock(&proc->inner_lock);
	while (!bl_empty(todo)) {
		work = bl_entry(bl_pop(todo), struct binder_work, link);
		if (drop[work->type])
			break;
		BINDER_COVER(WORK_OF_ANOTHER_OWNER);
		if (work->type == WORK_NODE && !proc->is_dead)
			binder_proc_queue_ilocked(proc, work);
		work = NULL;
	}
	binder_unlock(&proc->inner_lock);
	return work;
}

/* @proc: whose inner lock guards the list. */
static void drop_works(struct binder_proc *proc, struct bl_list *todo)
{
	struct binder_work *work;

	while ((work = pop_droppable(proc, todo)))
		drop[work->type](work);
}

/* ---- threads ------------------------------------------------------------------------ */

/* A call that the thread was serving gets no reply. */
static void abandon_ilocked(struct binder_transaction *t, struct binder_proc *proc)
	REQUIRES(&proc->inner_lock)
{
	binder_assert_held(&proc->inner_lock);
	BINDER_COVER(THREAD_ENDS_SERVING);
	binder_transaction_detach_ilocked(t, proc);
	binder_transaction_set_in(t, NULL);
	binder_transaction_set_for(t, NULL);
}

/*
 * Detaches the thread from all transactions on its stack. Returns the innermost one if it
 * is a call that the thread was serving.
 */
static struct binder_transaction *unwind_ilocked(struct binder_thread *thread)
	REQUIRES(&thread->proc->inner_lock)
{
	struct binder_transaction *t = thread->stack, *sent = NULL, *next;
	struct binder_transaction *unanswered =
		t && binder_transaction_is_for_racy(t, thread) ? t : NULL;

	binder_assert_held(&thread->proc->inner_lock);
	while (t) {
		if (binder_transaction_is_for_racy(t, thread)) {
			abandon_ilocked(t, thread->proc);
			t = t->to_parent;
		} else {
			t->next_orphan = sent;
			sent = t;
			t = t->from_parent;
		}
	}
	/*
	 * Only now: a call without a sender may be freed at once, and with it the call that it
	 * was made for, further up the stack.
	 */
	for (t = sent; t; t = next) {
		BINDER_COVER(THREAD_ENDS_IN_CALL);
		next = t->next_orphan;
		binder_lock(&t->lock);
		t->from = NULL;
		binder_unlock(&t->lock);
	}
	BINDER_WRITE_ONCE(thread->stack, NULL);
	return unanswered;
}

void binder_thread_release(struct binder_thread *thread)
{
	static const struct binder_result died = { .ret = BR_DEAD_REPLY, .err = -ESRCH,
						   .why = "the serving thread ended" };
	struct binder_proc *proc = thread->proc;
	struct binder_transaction *unanswered;
	struct bl_list todo;

	bl_init(&todo);
	binder_lock(&thread->proc->inner_lock);
	if (thread->is_dead) {
		binder_unlock(&thread->proc->inner_lock);
		return;
	}
	thread->is_dead = true;
	bt_erase(&thread->proc->threads, &thread->by_tid);
	thread->proc->nr_threads--;
	bl_del(&thread->waiting_link);
	unanswered = unwind_ilocked(thread);
	bl_splice_tail(&todo, &thread->todo);
	binder_thread_set_process_todo_ilocked(thread, false);
	/* A poll through this thread must end. */
	if (thread->looper & LOOPER_POLL)
		host_wake_poll(&proc->host, &thread->host);
	binder_unlock(&thread->proc->inner_lock);

	if (unanswered)
		binder_transaction_fail(unanswered, &died, false);
	drop_works(proc, &todo);
	binder_stats_deleted(STAT_THREAD);
	binder_thread_put(thread);
}

/* ---- processes ------------------------------------------------------------------------ */

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
		binder_thread_release(thread);
		binder_thread_put(thread);
	}
}

static void release_buffers(struct binder_proc *proc)
{
	struct binder_buffer *buffer;

	while ((buffer = binder_alloc_first_delivered(&proc->alloc))) {
		binder_lock(&proc->inner_lock);
		if (buffer->transaction)
			BINDER_WRITE_ONCE(buffer->transaction->buffer, NULL);
		BINDER_WRITE_ONCE(buffer->transaction, NULL);
		binder_unlock(&proc->inner_lock);
		binder_buffer_forget_refs(buffer);
		binder_trace_buffer(HOST_TRACE_BUFFER_FREED, buffer);
		binder_buffer_release(proc, NULL, buffer);
	}
}

/* Removes a node from its owner's tree; pinned. */
static struct binder_node *take_node(struct binder_proc *proc)
{
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
	return node;
}

/*
 * The owner of @node is gone: notifies the references that registered, and leaves the node to
 * the references. Drops a pin.
 */
static void orphan_node(struct binder_proc *proc, struct binder_node *node)
{
	struct bl_list async;

	bl_init(&async);
	binder_pi_mutex_lock(&binder_world.lock);
	bl_add_tail(&binder_world.dead_nodes, &node->dead_link);
	binder_pi_mutex_unlock(&binder_world.lock);
	binder_lock(&node->lock);
	node->proc = NULL;
	node->local_strong = 0;
	node->local_weak = 0;
	bl_splice_tail(&async, &node->async_todo);
	binder_death_notify_nlocked(node);
	binder_unlock(&node->lock);
	drop_works(proc, &async);
	binder_node_unpin(node);
}

static void release_nodes(struct binder_proc *proc)
{
	struct binder_node *node;

	while ((node = take_node(proc)))
		orphan_node(proc, node);
}

/* The lists of the process itself. */
static void release_lists(struct binder_proc *proc)
{
	drop_works(proc, &proc->todo);
	drop_works(proc, &proc->delivered_death);
	drop_works(proc, &proc->delivered_freeze);
}

void binder_proc_release(struct binder_proc *proc)
{
	binder_pi_mutex_lock(&binder_world.lock);
	bl_del(&proc->world_link);
	binder_stats_add(&binder_stats_world, &proc->stats);
	binder_pi_mutex_unlock(&binder_world.lock);
	binder_context_clear_manager(proc);

	binder_lock(&proc->inner_lock);
	proc->is_dead = true;
	proc->is_frozen = false;
	proc->sync_recv = false;
	proc->async_recv = false;
	binder_proc_wake_freezers_ilocked(proc);
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
