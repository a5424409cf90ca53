// SPDX-License-Identifier: GPL-2.0
/*
 * Lock step by two semaphores in shared memory: the director posts `go`, the actor runs the step
 * and posts `done`. A failed expectation in an actor ends its process; the director, while it
 * waits, sees that and ends the test.
 */
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"
#include "actor_process.h"
#include "replace.h"
#include "test.h"

int step_timeout_ms = 5000;

struct actor {
	sem_t go;
	sem_t done;
	void (*step)(void *arg);
	void *arg;
	struct actor *leader; /* first thread of the process */
	pid_t pid;
	pid_t tid;
	bool busy;
	bool gone;
};

static void *actor_main(void *arg)
{
	struct actor *self = arg;

	self->tid = process_thread_id();
	sem_post(&self->done);
	for (;;) {
		while (sem_wait(&self->go))
			;
		self->step(self->arg);
		sem_post(&self->done);
	}
	return NULL;
}

static struct actor *actor_alloc(void)
{
	struct actor *actor = shared_alloc(sizeof(*actor));

	sem_init(&actor->go, 1, 0);
	sem_init(&actor->done, 1, 0);
	actor->busy = true;
	return actor;
}

struct actor *actor_process(void)
{
	struct actor *actor = actor_alloc();

	actor->leader = actor;
	actor->pid = process_start(actor_main, actor);
	if (actor->pid < 0)
		FAIL("starting a process: %s", test_errno_name(-actor->pid));
	if (!actor_wait(actor, STEP_TIMEOUT_MS))
		FAIL("a new process does not come up");
	return actor;
}

static void start_thread(void *arg)
{
	int err = process_add_thread(actor_main, arg);

	if (err)
		FAIL("starting a thread: %s", test_errno_name(err));
}

struct actor *actor_thread(struct actor *of)
{
	struct actor *actor = actor_alloc();

	actor->leader = of->leader;
	actor->pid = of->pid;
	actor_run(of, start_thread, actor);
	if (!actor_wait(actor, STEP_TIMEOUT_MS))
		FAIL("a new thread does not come up");
	return actor;
}

void actor_start(struct actor *actor, void (*step)(void *arg), void *arg)
{
	if (actor->busy || actor->leader->gone)
		FAIL("step begun on an actor that is busy or gone");
	replace_at_step();
	actor->step = step;
	actor->arg = arg;
	actor->busy = true;
	sem_post(&actor->go);
}

/*
 * An actor whose expectation failed has printed the reason: end with its status. A process that
 * the test killed is expected.
 */
static void check_alive(struct actor *actor)
{
	int status;

	if (actor->leader->gone || !process_has_ended(actor->pid, &status))
		return;
	actor->leader->gone = true;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		_exit(WEXITSTATUS(status));
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		FAIL("process %d died of signal %d", actor->pid, WTERMSIG(status));
}

bool actor_wait(struct actor *actor, int timeout_ms)
{
	int64_t deadline = now_ms() + timeout_ms;

	while (sem_trywait(&actor->done)) {
		struct timespec slice;

		check_alive(actor);
		if (now_ms() >= deadline)
			return false;
		clock_gettime(CLOCK_REALTIME, &slice);
		slice.tv_nsec += 20000000;
		slice.tv_sec += slice.tv_nsec / 1000000000;
		slice.tv_nsec %= 1000000000;
		if (!sem_timedwait(&actor->done, &slice))
			break;
	}
	actor->busy = false;
	return true;
}

void actor_run(struct actor *actor, void (*step)(void *arg), void *arg)
{
	actor_start(actor, step, arg);
	if (!actor_wait(actor, STEP_TIMEOUT_MS))
		FAIL("a step hangs (it blocks where it should return)");
}

pid_t actor_pid(const struct actor *actor)
{
	return actor->pid;
}

pid_t actor_tid(const struct actor *actor)
{
	return actor->tid;
}

static void reap(struct actor *actor)
{
	int64_t deadline = now_ms() + STEP_TIMEOUT_MS;
	int status;

	while (!actor->leader->gone) {
		if (process_has_ended(actor->pid, &status))
			actor->leader->gone = true;
		else if (now_ms() > deadline)
			FAIL("process %d does not die", actor->pid);
		else
			sleep_ms(1);
	}
}

void actor_kill(struct actor *actor)
{
	replace_at_step();
	process_kill(actor->pid);
	reap(actor);
}

static void leave(void *arg)
{
	(void)arg;
	process_exit();
}

void actor_exit(struct actor *actor)
{
	actor_start(actor->leader, leave, NULL);
	reap(actor);
}
