/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Going into the background, and notifying the parent process and systemd once the devices can be
 * used.
 */
#ifndef HOST_FUSE_READY_H
#define HOST_FUSE_READY_H

#include <stdbool.h>
#include <sys/types.h>

void ready_init(void);

/*
 * Forks. The parent waits, and exits with status 0 once ready_announce() was called in the child,
 * or with 1 if the child exited before (the child has printed the reason). Only the child returns.
 * Must be called before any thread is started.
 */
void ready_fork(void);

/* Writes the daemon's pid to @path. Prints an error message and returns false on failure. */
bool ready_write_pid_file(const char *path, pid_t pid);

/* In a server: the daemon is in the background, as after ready_fork(). */
void ready_set_background(void);

/* In the background: messages go to syslog from now on. ready_announce() does it too. */
void ready_leave_terminal(void);

/*
 * Notifies the waiting parent and, if NOTIFY_SOCKET is set, systemd that the daemon is mounted and
 * serving. After ready_fork() it also detaches from the terminal: messages go to syslog from then
 * on.
 */
void ready_announce(void);

/* Notifies systemd that the daemon is stopping. */
void ready_announce_end(void);

#endif
