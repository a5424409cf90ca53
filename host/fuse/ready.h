/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Going into the background and telling who waits that the devices can be used.
 */
#ifndef HOST_FUSE_READY_H
#define HOST_FUSE_READY_H

#include <stdbool.h>

/*
 * Forks. The parent waits, and leaves with status 0 once ready_announce() was called in the child,
 * or with 1 if the child ended before (the child has then printed why). Only the child returns.
 * Must run before any thread is started.
 */
void ready_fork(void);

/* Creates @path with the daemon's pid, for scripts. Prints why and returns false if it cannot. */
bool ready_write_pid_file(const char *path);

/*
 * Says "mounted and serving" to the waiting parent and, if NOTIFY_SOCKET is set, to systemd. After
 * ready_fork() it also lets go of the terminal, and messages go to syslog.
 */
void ready_announce(void);

/* Says "stopping" to systemd. */
void ready_announce_end(void);

#endif
