/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scheduling of threads of clients: @prio is a nice value, or a real-time priority for FIFO and RR.
 * The functions make system calls: no engine lock may be held.
 */
#ifndef HOST_FUSE_SCHEDULING_H
#define HOST_FUSE_SCHEDULING_H

#include "host_types.h"

#include <sys/types.h>

void scheduling_get(pid_t tid, u8 *policy, s8 *prio);

/* @check: only as far as the thread's process may set it itself. */
void scheduling_set(struct host_thread *thread, u8 policy, s8 prio, bool check);

#endif
