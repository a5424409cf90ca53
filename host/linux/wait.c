// SPDX-License-Identifier: GPL-2.0
/*
 * Only a wait queue gives the scheduler the hint that the waker is about to sleep. Without it a
 * call of two CPUs wakes the receiver on the other one, at the cost of an interrupt between them.
 * But adding and removing an entry takes the lock of the queue twice for each sleep. As nothing
 * but the thread itself waits in its queue, its one entry stays there: the thread sleeps where
 * @private is set, which is all that has to change.
 */
#include "wait.h"

#include "compat/compat.h"

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/* With the lock of the queue held. A thread that was woken may end, so it is forgotten here. */
static int wake_sleeper(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	int woken;

	if (!READ_ONCE(entry->private))
		return 0;
	woken = default_wake_function(entry, mode, flags, key);
	if (woken)
		WRITE_ONCE(entry->private, NULL);
	return woken;
}

/* After this no waker uses the calling thread's task. */
static void leave(struct host_thread *thread)
{
	unsigned long flags;

	__set_current_state(TASK_RUNNING);
	if (!READ_ONCE(thread->sleeper.private))
		return;
	spin_lock_irqsave(&thread->wait.lock, flags);
	WRITE_ONCE(thread->sleeper.private, NULL);
	spin_unlock_irqrestore(&thread->wait.lock, flags);
}

void wait_init(struct host_thread *thread)
{
	init_waitqueue_head(&thread->wait);
	init_waitqueue_func_entry(&thread->sleeper, wake_sleeper);
	add_wait_queue(&thread->wait, &thread->sleeper);
}

int wait_for_work(struct host_thread *thread, unsigned long deadline)
{
	long left = deadline ? max_t(long, deadline - jiffies, 0) : 1;
	int ret = 0;

	while (!READ_ONCE(thread->woken) && left && !ret) {
		/* Each time: a wake-up that was meant for the last sleep clears it. */
		WRITE_ONCE(thread->sleeper.private, current);
		/* Pairs with the barrier in wait_wake(). */
		set_current_state(TASK_INTERRUPTIBLE | COMPAT_TASK_FREEZABLE);
		if (READ_ONCE(thread->woken))
			break;
		if (signal_pending(current))
			ret = -EINTR;
		else if (deadline)
			left = compat_schedule_timeout_freezable(left);
		else
			compat_schedule_freezable();
	}
	leave(thread);
	/* Cleared before the engine looks for work: a later wake-up sets it again. */
	if (READ_ONCE(thread->woken)) {
		smp_store_mb(thread->woken, false);
		ret = 1;
	}
	return ret;
}
