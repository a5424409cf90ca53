/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of another process, noticed at once.
 *
 * A thread that a client keeps in the kernel keeps the memory and the descriptors of its process,
 * even of one that was killed: its sockets stay connected, its pidfd does not become readable,
 * wait(2) does not return. So each of two processes has one end of a socket in a thread with a
 * descriptor table of its own, which ends as soon as the process is killed or exits.
 */
#ifndef HOST_FUSE_EXIT_WATCH_H
#define HOST_FUSE_EXIT_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Takes over @fd, one end of a socket; the other end is for the other process. When that process
 * ends, shuts down the socket @watched, unless that is -1. @nr: NULL, or the count of all processes
 * that are watched for this socket: then only the end of the last one shuts it down. Call before
 * the process has descriptors of clients' files. False: no memory or too many threads.
 */
bool exit_watch_start(int fd, int watched, atomic_uint *nr);

#endif
