/* SPDX-License-Identifier: GPL-2.0 */
/* wake: how a thread sleeps in the driver until there is something for it, and who ends that. */
#ifndef HOST_LINUX_WAKE_H
#define HOST_LINUX_WAKE_H

#include "host_types.h"

/* Once, before the first wake. */
void wake_init(void);

/* The calling thread, whose structure this is, comes into the driver and leaves it. */
void wake_enter(struct host_thread *thread);
void wake_leave(struct host_thread *thread);

/* What ended a sleep. */
enum wake_why { WAKE_WOKEN, WAKE_INTERRUPTED, WAKE_TIMED_OUT };
/* Sleeps until wake_thread() has been called since wake_enter() or the last sleep, at most until
 * @deadline (in jiffies; 0: no limit). */
enum wake_why wake_sleep(struct host_thread *thread, unsigned long deadline);

/* @sync: the caller is about to sleep itself. Any lock may be held. A thread that is not in the
 * driver needs no waking: it looks when it comes. */
void wake_thread(struct host_thread *thread, bool sync);

#endif
