/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that is started, stopped and waited for.
 *
 * It makes the mount, keeps the FUSE connection, and has a child serve it: the server, a process of
 * its own that is executed anew each time. The supervisor touches no client and nothing that the
 * server has, so it ends in any case, shortly after SIGTERM. (A worker may be in the memory of a
 * client whose pages come from a file system that does not answer: then it cannot be killed, and
 * its process cannot end.) When a server has crashed, another one goes on with the same mount.
 * SIGHUP has the server hand over to another one, SIGUSR1 has that rehearsed. The value that
 * sigqueue(3) sends with them is for how many milliseconds clients may wait.
 */
#ifndef HOST_FUSE_SUPERVISOR_H
#define HOST_FUSE_SUPERVISOR_H

#include <signal.h>

struct options;

/* The signals that the supervisor handles, to be blocked before supervisor_main(). */
sigset_t supervisor_signals(void);

/*
 * Mounts, starts a server and supervises it until the end. Returns the exit status of the daemon.
 * No thread was started. @argv: of main().
 */
int supervisor_main(const struct options *options, char **argv);

#endif
