// SPDX-License-Identifier: GPL-2.0
/*
 * A thread sleeps alone, so there is no queue to stand in: the waker marks the thread and wakes its
 * task. The mark is taken away before the engine is asked again, so a wake-up that comes at any
 * moment is seen.
 *
 * The task is known while it is in the driver only. Whoever wakes it may have learnt of it a moment
 * before it left; a task that ends is freed a grace period later, hence the RCU section.
 *
 * Wakers that sleep next say so, which lets the woken run where they ran. The flag for that is the
 * scheduler's own, and no header tells its value: one such wake-up on a queue made here does.
 */
#include "wake.h"

#include "base/inline.h"
#include "base/unset.h"
#include "compat/compat.h"

#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

static int sync_flag __read_mostly;

static int learn_flag(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	sync_flag = flags;
	return 0;
}

void wake_init(void)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct wait_queue_entry entry;

	init_waitqueue_func_entry(&entry, learn_flag);
	add_wait_queue(&queue, &entry);
	wake_up_interruptible_sync(&queue);
	remove_wait_queue(&queue, &entry);
}

void wake_enter(struct host_thread *thread)
{
	WRITE_ONCE(thread->woken, false);
	WRITE_ONCE(thread->task, current);
}

void wake_leave(struct host_thread *thread)
{
	WRITE_ONCE(thread->task, NULL);
}

BINDER_INLINE enum wake_why wake_sleep(struct host_thread *thread, unsigned long deadline)
{
	long left = MAX_SCHEDULE_TIMEOUT;
	enum wake_why why = WAKE_WOKEN;

	if (deadline)
		left = max_t(long, deadline - jiffies, 0);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE | COMPAT_TASK_FREEZABLE);
		if (READ_ONCE(thread->woken))
			break;
		why = signal_pending(current) ? WAKE_INTERRUPTED : WAKE_TIMED_OUT;
		if (why == WAKE_INTERRUPTED || !left)
			break;
		left = compat_schedule_freezable(left);
		why = WAKE_WOKEN;
	}
	__set_current_state(TASK_RUNNING);
	/* Before the engine looks: orders the mark against what it finds. */
	smp_store_mb(thread->woken, false);
	return why;
}

void wake_thread(struct host_thread *thread, bool sync)
{
	struct wait_queue_entry entry BINDER_UNSET; /* all that is looked at is the task */

	WRITE_ONCE(thread->woken, true);
	rcu_read_lock();
	entry.private = READ_ONCE(thread->task);
	if (entry.private)
		default_wake_function(&entry, TASK_INTERRUPTIBLE, sync ? sync_flag : 0, NULL);
	rcu_read_unlock();
}
