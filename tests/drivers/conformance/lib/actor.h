/* SPDX-License-Identifier: GPL-2.0 */
/*
 * actor: a thread of a separate process, which does what the director says, one step at a time. An
 * actor does everything that a test does with a device, so that several processes act in a fixed
 * order. Arguments of a step must be in shared memory (test.h: shared_alloc).
 */
#ifndef CONFORMANCE_ACTOR_H
#define CONFORMANCE_ACTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct actor;

/* How long a step may take, ms; then it counts as hung. */
#define STEP_TIMEOUT_MS step_timeout_ms
/* A sixth of the time limit of a test. */
extern int step_timeout_ms;

/* A new process; the actor is its only thread. */
struct actor *actor_process(void);
/* One more thread in the process of an actor. */
struct actor *actor_thread(struct actor *of);

/* Begin a step and do not wait for it. The actor must be idle. */
void actor_start(struct actor *actor, void (*step)(void *arg), void *arg);
/* Wait for the step begun; false when it has not ended within timeout_ms (it goes on). */
bool actor_wait(struct actor *actor, int timeout_ms);
/* Begin a step and wait for it; the test fails when it hangs. */
void actor_run(struct actor *actor, void (*step)(void *arg), void *arg);

pid_t actor_pid(const struct actor *actor);
pid_t actor_tid(const struct actor *actor);

/*
 * End the process of the actor: by SIGKILL, or by _exit(0) in its first thread. Returns when it
 * has been reaped.
 */
void actor_kill(struct actor *actor);
void actor_exit(struct actor *actor);

#endif
