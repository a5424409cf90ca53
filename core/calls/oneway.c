// SPDX-License-Identifier: GPL-2.0
/*
 * async_busy says that the receiver has a one-way call of the node; then calls/queue.c
 * appends to async_todo. A frozen process reads nothing, so with TF_UPDATE_TXN a newer
 * call replaces one that waits.
 *
 * Tested in: tests/drivers/conformance/txn_oneway.c
 */
#include "calls/oneway.h"

#include "calls/transaction.h"
#include "entities/thread.h"

/* Does @t replace @old: the same call of the same sender? */
static bool oneway_replaces(const struct binder_transaction *t,
			    const struct binder_transaction *old)
{
	const u32 both = TF_ONE_WAY | TF_UPDATE_TXN;

	return (t->flags & both) == both && (old->flags & both) == both && old->buffer &&
	       t->code == old->code && t->flags == old->flags && t->from_pid == old->from_pid &&
	       t->buffer->target_node == old->buffer->target_node;
}

struct binder_transaction *binder_oneway_take_outdated_nlocked(struct binder_node *node,
							       const struct binder_transaction *t)
{
	struct binder_work *work;

	binder_assert_held(&node->lock);
	bl_for_each(work, &node->async_todo, link) {
		struct binder_transaction *old;

		if (work->type != WORK_TRANSACTION)
			continue;
		old = bl_entry(&work->link, struct binder_transaction, work.link);
		if (oneway_replaces(t, old)) {
			bl_del(&work->link);
			return old;
		}
	}
	return NULL;
}

void binder_oneway_next(struct binder_node *node)
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
		binder_proc_queue_ilocked(proc, bl_entry(link, struct binder_work, link));
		binder_unlock(&proc->inner_lock);
	}
	binder_unlock(&node->lock);
}
