/* SPDX-License-Identifier: GPL-2.0 */
/*
 * queue: the route of a call or one-way call to the todo list that it belongs in.
 */
#ifndef BINDER_QUEUE_H
#define BINDER_QUEUE_H

#include "common/result.h"

struct binder_node;
struct binder_proc;
struct binder_thread;
struct binder_transaction;

/*
 * Queues @t. @node: the target, pinned by the caller and strongly referenced by the
 * buffer; the pin is dropped when @t is queued. @proc: its owner. @thread: the thread that
 * must get the call (a call back into a waiting thread), or NULL. 0, and *@pending: the call waits
 * at a frozen target (BR_TRANSACTION_PENDING_FROZEN), as only a one-way call can; NULL for others.
 * -errno: not queued, *@why has BR_DEAD_REPLY or BR_FROZEN_REPLY, and @t still belongs to the
 * caller. No lock held.
 */
int binder_queue_call(struct binder_transaction *t, struct binder_node *node,
		      struct binder_proc *proc, struct binder_thread *thread, bool *pending,
		      struct binder_result *why);

#endif
