// SPDX-License-Identifier: GPL-2.0
/*
 * Urgency is one scale: the real-time priorities, highest first, then the nice
 * values, lowest first.  A call carries its sender's place on it.  The node says
 * the least that it wants for its calls, and whether a real-time place may be
 * inherited at all (Android's rule; without leave a real-time caller counts as
 * nice 0).  One-way calls carry nothing: nobody waits for them.
 *
 * A thread that is real-time by its own choice stays so, whoever calls; one that
 * was lent a real-time place gives it back.
 *
 * Asking the system how a thread is scheduled costs a home like the daemon a
 * system call, so what was learnt is kept for as long as the thread cannot
 * change it itself: until it leaves the driver.
 */
#include "calls/inherit.h"
#include "common/cover.h"

#include "things/node.h"
#include "things/proc.h"
#include "things/thread.h"
#include "calls/transaction.h"

enum { POLICY_NORMAL = 0, POLICY_FIFO = 1, POLICY_RR = 2 };

#define NO_LEAST 127 /* a "nice value" above which everybody is */

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

/* Between policies that are not real-time there is no difference here. */
static bool same(struct host_priority a, struct host_priority b)
{
	return place(a) == place(b) && (a.policy == b.policy || !is_realtime(a));
}

struct host_priority binder_priority_of_flags(u32 flags)
{
	struct host_priority least = {
		.policy = (flags & FLAT_BINDER_FLAG_SCHED_POLICY_MASK) >>
			  FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT,
		.prio = (s8)(flags & FLAT_BINDER_FLAG_PRIORITY_MASK),
	};
	bool known = is_realtime(least) ? least.prio >= 1 && least.prio <= 99 :
					  least.prio >= -20 && least.prio <= 19;

	return known ? least : (struct host_priority){ .policy = POLICY_NORMAL, .prio = NO_LEAST };
}

struct host_priority binder_priority_of_open(struct host_priority opener)
{
	return is_realtime(opener) ? (struct host_priority){ .policy = POLICY_NORMAL } : opener;
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
	const struct host_priority least = node->min_priority;
	struct host_priority now = thread->priority_known ? thread->priority : look(thread);
	struct host_priority want = t->priority;

	t->saved_priority = now;
	t->saved_lent = thread->priority_lent;
	if (t->flags & TF_ONE_WAY)
		want = now;
	else if (is_realtime(want) && !node->inherit_rt)
		want = (struct host_priority){ .policy = POLICY_NORMAL };
	if (binder_priority_above(least, want) ||
	    (place(least) == place(want) && least.policy == POLICY_FIFO))
		want = least;
	if (same(want, now) || (is_realtime(now) && !is_realtime(want)))
		return;
	if (is_realtime(want) && !thread->priority_lent) {
		thread->priority_lent = true;
		thread->own_priority = now;
	}
	give(thread, want, true);
}

static void set_back(struct binder_thread *thread, struct host_priority want)
{
	struct host_priority now = look(thread);

	if (!thread->priority_lent && (is_realtime(now) || is_realtime(want)))
		return;
	if (!same(want, now))
		give(thread, want, false);
}

void binder_priority_restore(struct binder_thread *thread, const struct binder_transaction *t)
{
	set_back(thread, t->saved_priority);
	thread->priority_lent = t->saved_lent;
}

void binder_priority_take_back(struct binder_thread *thread)
{
	if (thread->priority_lent) {
		BINDER_COVER(PRIORITY_TAKEN_BACK);
		set_back(thread, thread->own_priority);
	}
	thread->priority_lent = false;
}

void binder_priority_default(struct binder_thread *thread)
{
	binder_priority_take_back(thread);
	set_back(thread, thread->proc->default_priority);
}

void binder_priority_forget(struct binder_thread *thread)
{
	thread->priority_known = false;
}
