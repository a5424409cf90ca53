// SPDX-License-Identifier: GPL-2.0
/*
 * Which todo list a call goes to.  A call into a thread that waits for us goes
 * to that thread; any other goes to a thread that waits in the loop, or to the
 * process.  One-way calls to one node are delivered one at a time: while one is
 * with the receiver (until it frees the buffer), the others stand in the node's
 * own list.  A frozen process takes one-way calls but nobody reads them; with
 * TF_UPDATE_TXN a newer one then takes the place of an older one like it.
 */
#include "notices/freeze.h"
#include "common/cover.h"
#include "things/node.h"
#include "things/proc.h"
#include "things/thread.h"
#include "calls/transaction.h"

/* May @t take the place of @old?  The same sender says the same again. */
static bool outdates(const struct binder_transaction *t, const struct binder_transaction *old)
{
	const u32 both = TF_ONE_WAY | TF_UPDATE_TXN;

	return (t->flags & both) == both && (old->flags & both) == both && old->buffer &&
	       t->code == old->code && t->flags == old->flags && t->from_pid == old->from_pid &&
	       t->buffer->target_node == old->buffer->target_node;
}

static struct binder_transaction *take_outdated_nlocked(struct binder_node *node,
							struct binder_transaction *t)
	REQUIRES(&node->lock)
{
	struct binder_work *work;

	bl_for_each(work, &node->async_todo, link) {
		struct binder_transaction *old;

		if (work->type != WORK_TRANSACTION)
			continue;
		old = bl_entry(&work->link, struct binder_transaction, work.link);
		if (outdates(t, old)) {
			bl_del(&work->link);
			return old;
		}
	}
	return NULL;
}

/* Queues under both locks; how, depends on the node's one-way state. */
static void place_nlocked(struct binder_transaction *t, struct binder_node *node,
			  struct binder_proc *proc, struct binder_thread *thread) NO_TSA
{
	bool oneway = t->flags & TF_ONE_WAY;
	bool behind = oneway && node->async_busy;

	binder_transaction_set_in(t, proc);
	t->counted = true;
	proc->outstanding_txns++;
	if (oneway)
		node->async_busy = true;
	if (behind) {
		BINDER_COVER(ONEWAY_BEHIND);
		bl_add_tail(&node->async_todo, &t->work.link);
		return;
	}
	if (!thread)
		thread = binder_select_thread_ilocked(proc);
	if (thread)
		binder_thread_queue_ilocked(thread, &t->work);
	else
		bl_add_tail(&proc->todo, &t->work.link);
	binder_wake_ilocked(proc, thread, !oneway);
}

static void drop_outdated(struct binder_proc *proc, struct binder_transaction *old)
{
	struct binder_buffer *buffer = binder_transaction_detach_buffer(old);

	BINDER_COVER(ONEWAY_OUTDATED);
	if (buffer) {
		binder_trace_buffer(HOST_TRACE_BUFFER_OUTDATED, buffer);
		binder_buffer_release(proc, NULL, buffer);
	}
	binder_transaction_free(old);
}

int binder_transaction_queue(struct binder_transaction *t, struct binder_node *node,
			     struct binder_proc *proc, struct binder_thread *thread,
			     struct binder_result *why) NO_TSA
{
	bool oneway = t->flags & TF_ONE_WAY;
	struct binder_transaction *outdated = NULL;
	bool frozen, dead;

	binder_lock(&node->lock);
	binder_lock(&proc->inner_lock);
	frozen = proc->is_frozen;
	if (frozen) {
		proc->sync_recv |= !oneway;
		proc->async_recv |= oneway;
	}
	dead = !node->proc || proc->is_dead || (thread && thread->is_dead);
	if (!dead && (!frozen || oneway)) {
		if (frozen && node->async_busy)
			outdated = take_outdated_nlocked(node, t);
		place_nlocked(t, node, proc, thread);
		/* Whoever frees the buffer, which holds the object, comes after us here. */
		host_atomic_add_return(&node->pins, -1);
	}
	binder_unlock(&proc->inner_lock);
	binder_unlock(&node->lock);

	if (outdated)
		drop_outdated(proc, outdated);
	if (frozen && !oneway) {
		BINDER_COVER(CALL_FROZEN);
		return binder_fail(why, BR_FROZEN_REPLY, -EAGAIN, "the target is frozen");
	}
	if (dead) {
		BINDER_COVER(CALL_TOO_LATE);
		return binder_fail(why, frozen ? BR_FROZEN_REPLY : BR_DEAD_REPLY, -ESRCH,
				   "the target is dead");
	}
	if (!frozen)
		return 0;
	BINDER_COVER(ONEWAY_FROZEN);
	return 1;
}

void binder_oneway_next(struct binder_node *node) NO_TSA
{
	struct binder_proc *proc;
	struct bl_list *link;

	binder_lock(&node->lock);
	proc = node->proc;
	link = bl_pop(&node->async_todo);
	if (!link) {
		node->async_busy = false;
	} else if (proc) {
		binder_lock(&proc->inner_lock);
		bl_add_tail(&proc->todo, link);
		binder_wake_proc_ilocked(proc);
		binder_unlock(&proc->inner_lock);
	}
	binder_unlock(&node->lock);
}
