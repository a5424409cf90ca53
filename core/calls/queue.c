// SPDX-License-Identifier: GPL-2.0
/*
 * A call back into a waiting thread goes to that thread. Any other call goes to a thread
 * that waits in the loop or, if none does, to the process. A one-way call goes behind an
 * earlier one of the same node (calls/oneway.h). A dead process takes nothing; a frozen one
 * takes one-way calls, which it reads when it is thawed.
 *
 * Tested in: tests/drivers/conformance/loop_wait.c
 */
#include "calls/queue.h"

#include "calls/buffer.h"
#include "calls/oneway.h"
#include "calls/transaction.h"
#include "common/cover.h"
#include "entities/node.h"
#include "entities/thread.h"

/* Queues for @thread, or if NULL for any thread of the process. */
static void queue_ilocked(struct binder_transaction *t, struct binder_proc *proc,
			  struct binder_thread *thread) REQUIRES(&proc->inner_lock)
{
	binder_assert_held(&proc->inner_lock);
	if (!thread)
		thread = binder_select_thread_ilocked(proc);
	if (thread) {
		binder_assert_held(&thread->proc->inner_lock);
		binder_thread_queue_ilocked(thread, &t->work);
	} else {
		bl_add_tail(&proc->todo, &t->work.link);
	}
	binder_wake_ilocked(proc, thread, !(t->flags & TF_ONE_WAY));
}

static void place_nlocked(struct binder_transaction *t, struct binder_node *node,
			  struct binder_proc *proc, struct binder_thread *thread)
	REQUIRES(&node->lock) REQUIRES(&proc->inner_lock)
{
	bool oneway = t->flags & TF_ONE_WAY;
	bool behind = oneway && node->async_busy;

	binder_assert_held(&node->lock);
	binder_transaction_set_in(t, proc);
	binder_transaction_count_ilocked(t, proc);
	if (oneway)
		node->async_busy = true;
	if (behind) {
		BINDER_COVER(ONEWAY_BEHIND);
		bl_add_tail(&node->async_todo, &t->work.link);
	} else {
		queue_ilocked(t, proc, thread);
	}
}

static void drop_outdated(struct binder_proc *proc, struct binder_transaction *old)
{
	struct binder_buffer *buffer = binder_transaction_detach(old);

	BINDER_COVER(ONEWAY_OUTDATED);
	if (buffer) {
		binder_trace_buffer(HOST_TRACE_BUFFER_OUTDATED, buffer);
		binder_buffer_release(proc, NULL, buffer);
	}
	binder_transaction_free(old);
}

/* Why it was not queued. */
static int queue_refuse(struct binder_result *why, bool frozen, bool oneway)
{
	if (frozen && !oneway) {
		BINDER_COVER(CALL_FROZEN);
		return binder_fail(why, BR_FROZEN_REPLY, -EAGAIN, "the target is frozen");
	}
	BINDER_COVER(CALL_TARGET_DIED);
	return binder_fail(why, frozen ? BR_FROZEN_REPLY : BR_DEAD_REPLY, -ESRCH,
			   "the target is dead");
}

int binder_queue_call(struct binder_transaction *t, struct binder_node *node,
		      struct binder_proc *proc, struct binder_thread *thread, bool *pending,
		      struct binder_result *why)
{
	bool oneway = t->flags & TF_ONE_WAY;
	struct binder_transaction *outdated = NULL;
	bool frozen, queued;

	binder_lock(&node->lock);
	binder_lock(&proc->inner_lock);
	frozen = proc->is_frozen;
	if (frozen) {
		proc->sync_recv |= !oneway;
		proc->async_recv |= oneway;
	}
	queued = node->proc && !proc->is_dead && !(thread && thread->is_dead) &&
		 (!frozen || oneway);
	if (queued) {
		if (frozen && node->async_busy)
			outdated = binder_oneway_take_outdated_nlocked(node, t);
		place_nlocked(t, node, proc, thread);
		/*
		 * The buffer, which references the node, cannot be freed before the
		 * locks are released.
		 */
		host_atomic_add_return(&node->pins, -1);
	}
	binder_unlock(&proc->inner_lock);
	binder_unlock(&node->lock);

	if (outdated)
		drop_outdated(proc, outdated);
	if (!queued)
		return queue_refuse(why, frozen, oneway);
	if (frozen)
		BINDER_COVER(ONEWAY_FROZEN);
	if (pending)
		*pending = frozen;
	return 0;
}
