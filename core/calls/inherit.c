// SPDX-License-Identifier: GPL-2.0
/*
 * A call carries the priority of its sender. The node states a minimum for its calls, and
 * whether a real-time priority may be inherited at all (Android's rule; otherwise a
 * real-time caller counts as nice 0). One-way calls carry no priority, because no thread
 * waits for them.
 *
 * A thread that is real-time by its own choice keeps its priority for every call;
 * one that inherited a real-time priority drops it.
 *
 * Asking for a thread's priority costs a system call in a host like the daemon. So the
 * answer is cached until the thread leaves the driver, where it could change it itself.
 */
#include "calls/inherit.h"

#include "calls/transaction.h"
#include "common/cover.h"
#include "pure/priority_flags.h"
#include "entities/node.h"
#include "entities/thread.h"

static inline struct host_priority inherit_load(struct binder_thread *thread)
{
	thread->priority = host_priority_get(&thread->host);
	thread->priority_known = true;
	return thread->priority;
}

static inline struct host_priority inherit_now(struct binder_thread *thread)
{
	return thread->priority_known ? thread->priority : inherit_load(thread);
}

static void inherit_set(struct binder_thread *thread, struct host_priority want, bool check)
{
	host_priority_set(&thread->host, want, check);
	thread->priority = want;
	thread->priority_known = !check; /* the host may have lowered it */
}

struct host_priority binder_inherit_from(struct binder_thread *thread)
{
	return inherit_load(thread);
}

/* What @t deserves, before the node's minimum. */
static struct host_priority inherit_requested(const struct binder_transaction *t,
					      const struct binder_node *node,
					      struct host_priority now)
{
	if (t->flags & TF_ONE_WAY)
		return now;
	if (binder_priority_is_realtime(t->priority) && !node->inherit_rt)
		return (struct host_priority){ .policy = POLICY_NORMAL };
	return t->priority;
}

void binder_inherit_priority(struct binder_thread *thread, struct binder_transaction *t,
			     const struct binder_node *node)
{
	const struct host_priority min = node->min_priority;
	struct host_priority now = inherit_now(thread);
	struct host_priority want = inherit_requested(t, node, now);

	t->saved_priority = now;
	t->saved_lent = thread->priority_lent;
	if (binder_priority_above(min, want) ||
	    (binder_priority_rank(min) == binder_priority_rank(want) && min.policy == POLICY_FIFO))
		want = min;
	if (binder_priority_equal(want, now) ||
	    (binder_priority_is_realtime(now) && !binder_priority_is_realtime(want)))
		return;
	if (binder_priority_is_realtime(want) && !thread->priority_lent) {
		thread->priority_lent = true;
		thread->own_priority = now;
	}
	inherit_set(thread, want, true);
}

void binder_inherit_trace(struct binder_thread *thread, const struct binder_transaction *t)
{
	if (host_trace_priorities_wanted())
		host_trace_priorities(t->debug_id, t->flags & TF_ONE_WAY ? NULL : &t->priority,
				      inherit_now(thread));
}

static void set_back(struct binder_thread *thread, struct host_priority want)
{
	struct host_priority now = inherit_load(thread);

	if (binder_priority_equal(want, now))
		return;
	if (!thread->priority_lent &&
	    (binder_priority_is_realtime(now) || binder_priority_is_realtime(want)))
		return;
	inherit_set(thread, want, false);
}

void binder_inherit_restore(struct binder_thread *thread, const struct binder_transaction *t)
{
	set_back(thread, t->saved_priority);
	thread->priority_lent = t->saved_lent;
}

void binder_inherit_drop(struct binder_thread *thread)
{
	if (thread->priority_lent) {
		BINDER_COVER(PRIORITY_DROPPED);
		set_back(thread, thread->own_priority);
	}
	thread->priority_lent = false;
}

void binder_inherit_default(struct binder_thread *thread)
{
	binder_inherit_drop(thread);
	set_back(thread, thread->proc->default_priority);
}
