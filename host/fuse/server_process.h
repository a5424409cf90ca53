/* SPDX-License-Identifier: GPL-2.0 */
/* The process that serves, what its threads do, and how they come from a request to its handler. */
#ifndef HOST_FUSE_SERVER_PROCESS_H
#define HOST_FUSE_SERVER_PROCESS_H

#include <stdbool.h>

struct fair_queue;
struct request;
struct worker;

/* The main() of a server (SERVER_NAME). Returns the exit status, with threads running. */
int server_main(int argc, char **argv);

/* ---- worker_main.c ---- */

/* The body of a thread of the pool: serves requests or the slow lane, or finishes queued work. */
void worker_main(struct worker *self);

/*
 * ---- watcher.c ----
 *
 * One thread that waits for events that come with no request: the death of a process, a deadline, a
 * stuck worker, the age of requests, memory pressure. It sleeps while nothing of the kind is
 * expected.
 */

/* Starts the thread, after watch_init(). False: no memory or too many threads. */
bool watcher_start(void);

/* ---- dispatch.c: from the opcode of a request to its handler ---- */

/* Replies to @request, or parks it. No pointer into the request's buffer is kept. */
void dispatch(const struct request *request);

/* Serves a call or request of @queue, the backlog or the slow lane (backlog.h), if there is one. */
void dispatch_queued(struct fair_queue *queue);

#endif
