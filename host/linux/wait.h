/* SPDX-License-Identifier: GPL-2.0 */
/* wait: a thread sleeps in an ioctl until the engine has work for it. */
#ifndef HOST_LINUX_WAIT_H
#define HOST_LINUX_WAIT_H

#include "host_types.h"

#include <linux/sched.h>
#include <linux/wait.h>

/**
 * wait_init() - prepare the calling thread for wait_for_work()
 * @thread: its data
 *
 * Context: Takes a reference to the task. Pair: wait_destroy().
 */
void wait_init(struct host_thread *thread);
/**
 * wait_destroy() - undo wait_init()
 * @thread: which no other thread can wake any more
 *
 * Context: Any thread.
 */
void wait_destroy(struct host_thread *thread);

/**
 * wait_for_work() - sleep until the engine has work for the calling thread
 * @thread: its data
 * @deadline: in jiffies; 0: none
 *
 * Returns at once if wait_wake() was called since the last return.
 *
 * Context: May sleep.
 *
 * Return: 1 when woken, 0 after the deadline, -EINTR on a signal.
 */
int wait_for_work(struct host_thread *thread, unsigned long deadline);

/**
 * wait_wake() - wake a thread, or keep it from sleeping
 * @thread: which exists until this returns
 * @sync: the caller is about to sleep, so the thread should run on its CPU
 *
 * Context: Does not sleep.
 */
static inline void wait_wake(struct host_thread *thread, bool sync)
{
	WRITE_ONCE(thread->woken, true);
	/* Pairs with set_current_state() in wait_for_work(): see the litmus test wait. */
	smp_mb();
	if (!READ_ONCE(thread->sleeping))
		return;
	if (sync)
		wake_up_interruptible_sync(&thread->wait);
	else
		wake_up_interruptible(&thread->wait);
}

#endif
