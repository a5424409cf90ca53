/* SPDX-License-Identifier: GPL-2.0 */
/* Threads, of any process, that lack nothing but a processor. */
#ifndef HOST_FUSE_RUNNABLE_H
#define HOST_FUSE_RUNNABLE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * How long the daemon waits for a thread that would go on if a processor was free, beyond the time
 * for others: a thread that a client keeps in the kernel waits for something else.
 */
#define RUNNABLE_PATIENCE_MS 60000u

/* Has the thread @tid all that it needs to go on, save perhaps a processor? Waits for nothing. */
bool thread_is_runnable(pid_t tid);

#endif
