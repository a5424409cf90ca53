/* SPDX-License-Identifier: GPL-2.0 */
/*
 * inherit: priority inheritance. A thread serves a call at the priority of its caller, or
 * at the minimum that the node asks for, and gets its own priority back afterwards.
 *
 * All are called by the thread's own call, with no lock held; all but
 * binder_inherit_forget() may sleep.
 */
#ifndef BINDER_INHERIT_H
#define BINDER_INHERIT_H

#include "entities/thread.h"

struct binder_node;
struct binder_transaction;

/*
 * The call @t to @node is about to be delivered to @thread: saves the thread's priority
 * in @t and changes it.
 */
void binder_inherit_priority(struct binder_thread *thread, struct binder_transaction *t,
			     const struct binder_node *node);
/* The priority of the sending thread. */
struct host_priority binder_inherit_from(struct binder_thread *thread);
/* Traces the priorities of @thread, to which call @t is being delivered, and of its caller. */
void binder_inherit_trace(struct binder_thread *thread, const struct binder_transaction *t);
/* @thread was outside of the driver, so its priority may have changed. */
static inline void binder_inherit_forget(struct binder_thread *thread)
{
	thread->priority_known = false;
}
/* @thread has replied to @t. */
void binder_inherit_restore(struct binder_thread *thread, const struct binder_transaction *t);
/* @thread waits for work of its process: back to the default priority of the process. */
void binder_inherit_default(struct binder_thread *thread);
/* @thread leaves the driver: drops a real-time priority that it inherited. */
void binder_inherit_drop(struct binder_thread *thread);

#endif
