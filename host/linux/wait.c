// SPDX-License-Identifier: GPL-2.0
/*
 * A wait queue, because only that tells the scheduler that the waker is about to sleep. Without
 * this hint a call of two CPUs wakes the receiver on the other one, at the cost of an interrupt
 * between them. Nothing but the thread itself waits in its queue, so its entry is added once, for
 * as long as the thread is known, and not twice for each call. The entry holds a reference to the
 * task. A wake-up while the task does not wait here finds it running, or is one more that its
 * present sleep has to expect anyway.
 */
#include "wait.h"

#include "compat/compat.h"

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

static void wait_add_current(struct host_thread *thread)
{
	init_waitqueue_entry(&thread->entry, get_task_struct(current));
	add_wait_queue(&thread->wait, &thread->entry);
}

void wait_init(struct host_thread *thread)
{
	init_waitqueue_head(&thread->wait);
	wait_add_current(thread);
}

void wait_destroy(struct host_thread *thread)
{
	remove_wait_queue(&thread->wait, &thread->entry);
	put_task_struct(thread->entry.private);
}

int wait_for_work(struct host_thread *thread, unsigned long deadline)
{
	long left = deadline ? max_t(long, deadline - jiffies, 0) : 1;
	int ret = 0;

	/*
	 * Also where a kernel of voluntary preemption runs the thread that was just woken, as
	 * wait_event() does: if its answer comes before this thread sleeps, this thread needs not
	 * be taken off the run queue and put back.
	 */
	might_sleep();
	/* Another task has the id of one that ended: a new thread, or one that called exec(). */
	if (unlikely(thread->entry.private != current)) {
		wait_destroy(thread);
		wait_add_current(thread);
	}
	WRITE_ONCE(thread->sleeping, true);
	while (!READ_ONCE(thread->woken) && left && !ret) {
		/* The barrier in it pairs with that of wait_wake(). */
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
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(thread->sleeping, false);
	/*
	 * Cleared before the engine looks for work: a later wake-up sets it again. The lock under
	 * which the engine looks and wakes orders that (the litmus test wait-again).
	 */
	if (READ_ONCE(thread->woken)) {
		WRITE_ONCE(thread->woken, false);
		ret = 1;
	}
	return ret;
}
