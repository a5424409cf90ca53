/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who serves a call does so with the caller's urgency, or with what the object
 * asks for at least, and goes back afterwards.
 */
#ifndef BINDER_INHERIT_H
#define BINDER_INHERIT_H

#include "host.h"

struct binder_node;
struct binder_thread;
struct binder_transaction;

/* @thread is about to be handed @t, a call to @node: remembers how it is
 * scheduled and gives it what the call deserves.  May sleep. */
void binder_priority_inherit(struct binder_thread *thread, struct binder_transaction *t,
			     const struct binder_node *node);
/* How the thread that sends is scheduled.  May sleep. */
struct host_priority binder_priority_of_sender(struct binder_thread *thread);
/* @thread comes in with a new call: it may have changed since it was last here. */
void binder_priority_forget(struct binder_thread *thread);
/* @thread has answered @t.  May sleep. */
void binder_priority_restore(struct binder_thread *thread, const struct binder_transaction *t);
/* @thread takes new work of its process: back to where the process began.  May
 * sleep. */
void binder_priority_default(struct binder_thread *thread);
/* @thread is nobody's any more: it gives a real-time place back that it was lent.
 * May sleep. */
void binder_priority_take_back(struct binder_thread *thread);

/* The least that a flat_binder_object's @flags ask for; for values that mean
 * nothing, a place below all. */
struct host_priority binder_priority_of_flags(u32 flags);
/* Where the threads of a process begin that was opened by a thread so scheduled:
 * a real-time policy is a thread's own affair. */
struct host_priority binder_priority_of_open(struct host_priority opener);

/* Is @a more urgent than @b? */
bool binder_priority_above(struct host_priority a, struct host_priority b);

#endif
