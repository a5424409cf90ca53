/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watcher: one thread that waits for events that come with no request: the death of a process,
 * a deadline, a stuck worker, the age of requests, memory pressure. It sleeps while nothing of the
 * kind is expected.
 */
#ifndef HOST_FUSE_WATCHER_H
#define HOST_FUSE_WATCHER_H

#include <stdbool.h>

/* Starts the thread, after watch_init(). False: no memory or too many threads. */
bool watcher_start(void);

#endif
