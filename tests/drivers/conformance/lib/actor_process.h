/* SPDX-License-Identifier: GPL-2.0 */
/*
 * actor_process: the processes that actors are in, and the drivers that they open. They are the
 * kernel's (actor_process.c); or, in the program that has the engine in it (engine/), groups of
 * threads.
 */
#ifndef CONFORMANCE_ACTOR_PROCESS_H
#define CONFORMANCE_ACTOR_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/lib/binder_port.h"

/* A new process, whose first thread calls main(arg), which does not return. Its id, or -errno. */
pid_t process_start(void *(*main)(void *arg), void *arg);
/* One more thread of the calling process. 0 or an errno. */
int process_add_thread(void *(*main)(void *arg), void *arg);
/* The id of the calling thread. */
pid_t process_thread_id(void);

/* SIGKILL. */
void process_kill(pid_t pid);
/* The calling process ends, with status 0. */
_Noreturn void process_exit(void);
/* Has it ended? Then *status is as waitpid(2) has it. True once for each process. */
bool process_has_ended(pid_t pid, int *status);

/* What client.h opens devices with. */
extern const struct port_system *const process_ports;

/* When a test has passed: ends all processes. The test fails if the driver has kept anything. */
void process_end_all(void);

#endif
