/* SPDX-License-Identifier: GPL-2.0 */
/* wait: a thread sleeps in an ioctl until the engine has work for it. */
#ifndef HOST_LINUX_WAIT_H
#define HOST_LINUX_WAIT_H

#include "host_types.h"

#include <linux/sched.h>
#include <linux/wait.h>

/* For the calling thread. Pair: wait_destroy(), by any thread, when no other can wake it. */
void wait_init(struct host_thread *thread);
void wait_destroy(struct host_thread *thread);

/*
 * Sleeps until wait_wake(), a signal, or @deadline (in jiffies; 0: none). Returns at once if
 * wait_wake() was called since the last return. Called by the thread itself; may sleep.
 * Returns 1 when woken, 0 after the deadline, -EINTR on a signal.
 */
int wait_for_work(struct host_thread *thread, unsigned long deadline);

/*
 * Wakes the thread. @sync: the caller is about to sleep, so the scheduler should run the thread
 * on this CPU. The thread exists until this returns. Does not sleep.
 */
static inline void wait_wake(struct host_thread *thread, bool sync)
{
	WRITE_ONCE(thread->woken, true);
	/* Pairs with set_current_state() in wait_for_work(). */
	smp_mb();
	if (sync)
		wake_up_interruptible_sync(&thread->wait);
	else
		wake_up_interruptible(&thread->wait);
}

#endif
