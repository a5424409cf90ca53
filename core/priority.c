// SPDX-License-Identifier: GPL-2.0
/*
 * Urgency is one scale: the real-time priorities, highest first, then the nice
 * values, lowest first.  A call carries its sender's place on it.  The node says
 * the least that it wants for its calls, and whether a real-time place may be
 * inherited at all (Android's rule; without leave a real-time caller counts as
 * nice 0).  One-way calls carry nothing: nobody waits for them.
 *
 * Asking the system how a thread is scheduled costs a home like the daemon a
 * system call, so what was learnt is kept for as long as the thread cannot
 * change it itself: until it leaves the driver.
 */
#include "priority.h"

#include "node.h"
#include "proc.h"
#include "thread.h"
#include "transaction.h"

enum { POLICY_NORMAL = 0, POLICY_FIFO = 1, POLICY_RR = 2 };

static bool is_realtime(struct host_priority p)
{
	return p.policy == POLICY_FIFO || p.policy == POLICY_RR;
}

/* Place on the scale, 0 the most urgent. */
static int place(struct host_priority p)
{
	return is_realtime(p) ? 99 - p.prio : 120 + p.prio;
}

bool binder_priority_above(struct host_priority a, struct host_priority b)
{
	return place(a) < place(b);
}

static bool same(struct host_priority a, struct host_priority b)
{
	return a.policy == b.policy && a.prio == b.prio;
}

/* Asks the system, and remembers: until the thread runs again it is known. */
static struct host_priority look(struct binder_thread *thread)
{
	thread->priority = host_priority_get(&thread->host);
	thread->priority_known = true;
	return thread->priority;
}

static void give(struct binder_thread *thread, struct host_priority want, bool check)
{
	host_priority_set(&thread->host, want, check);
	thread->priority = want;
	thread->priority_known = !check; /* else it may have been given less */
}

struct host_priority binder_priority_of_sender(struct binder_thread *thread)
{
	return look(thread);
}

void binder_priority_inherit(struct binder_thread *thread, struct binder_transaction *t,
			     const struct binder_node *node)
{
	struct host_priority want = t->priority;
	struct host_priority now = thread->priority_known ? thread->priority : look(thread);

	t->saved_priority = now;
	if (t->flags & TF_ONE_WAY)
		want = now;
	else if (is_realtime(want) && !node->inherit_rt)
		want = (struct host_priority){ .policy = POLICY_NORMAL };
	if (binder_priority_above(node->min_priority, want) ||
	    (place(node->min_priority) == place(want) && node->min_priority.policy == POLICY_FIFO))
		want = node->min_priority;
	if (!same(want, now))
		give(thread, want, true);
}

static void set_back(struct binder_thread *thread, struct host_priority want)
{
	if (!same(want, look(thread)))
		give(thread, want, false);
}

void binder_priority_restore(struct binder_thread *thread, const struct binder_transaction *t)
{
	set_back(thread, t->saved_priority);
	/* What it is now it had before the call, when it took work of its process. */
	thread->priority_settled = same(t->saved_priority, thread->proc->default_priority);
}

void binder_priority_default(struct binder_thread *thread)
{
	if (!thread->priority_settled)
		set_back(thread, thread->proc->default_priority);
	else
		thread->priority_known = true;
	thread->priority_settled = false;
}

void binder_priority_forget(struct binder_thread *thread)
{
	thread->priority_known = false;
}
