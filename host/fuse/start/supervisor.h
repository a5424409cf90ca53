/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that is started, stopped and waited for.
 *
 * A worker may be in the memory of a client whose pages come from a file system that does not
 * answer: then it cannot be killed, and its process cannot end. So the process that serves is a
 * child of the daemon's first process, the supervisor, which touches no client and nothing that the
 * server has, and ends in any case, shortly after SIGTERM or after the end of the server.
 */
#ifndef HOST_FUSE_SUPERVISOR_H
#define HOST_FUSE_SUPERVISOR_H

#include <stdbool.h>

struct options;

/*
 * Forks. Returns in the child, the server, with true; the parent becomes the supervisor, and does
 * not return. False: an error was printed. No thread must have been started.
 */
bool supervisor_fork(const struct options *options);

/*
 * For the server: has the supervisor notice its end, and announce that it serves. False: no memory
 * or too many threads.
 */
bool supervisor_attach(void);
void supervisor_announce(void);

#endif
