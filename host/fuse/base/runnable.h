/* SPDX-License-Identifier: GPL-2.0 */
/* Which threads, of any process, lack a processor only. */
#ifndef HOST_FUSE_RUNNABLE_H
#define HOST_FUSE_RUNNABLE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * How long it is waited for a thread that would go on if a processor was free, beyond what is
 * waited for others: a thread that a client keeps waits for something else.
 */
#define RUNNABLE_PATIENCE_MS 60000u

/* Has the thread @tid all that it needs to go on, save perhaps a processor? Waits for nothing. */
bool thread_is_runnable(pid_t tid);

#endif
