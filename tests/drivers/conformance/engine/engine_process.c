// SPDX-License-Identifier: GPL-2.0
/*
 * The processes of actor_process.h on the test host. Each is a group of threads of this program, so
 * a test needs neither a kernel's driver nor a daemon, and the sanitizers see the engine, its
 * callers and their memory at once. A process that is killed leaves its threads behind: they stop
 * where they enter or leave the engine, and end with the test.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "actor_process.h"
#include "engine_process.h"
#include "test.h"

/* What ends in an instant needs no time to be cleaned up. */
const int process_cleanup_ms = 0;

_Thread_local struct engine_thread *engine_self;

static struct engine_process *processes;

struct start {
	struct engine_process *process;
	void *(*main)(void *arg);
	void *arg;
};

static void *run(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	engine_self = calloc(1, sizeof(*engine_self));
	engine_self->process = start.process;
	engine_self->tid = process_thread_id();
	if (!start.process->pid)
		__atomic_store_n(&start.process->pid, engine_self->tid, __ATOMIC_SEQ_CST);
	return start.main(start.arg);
}

static int begin(struct engine_process *process, void *(*main)(void *arg), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	pthread_t thread;

	*start = (struct start){ process, main, arg };
	return pthread_create(&thread, NULL, run, start);
}

/* The first thread gives the process its id. */
pid_t process_start(void *(*main)(void *arg), void *arg)
{
	struct engine_process *process = calloc(1, sizeof(*process));
	int err = begin(process, main, arg);

	if (err)
		return -err;
	while (!__atomic_load_n(&process->pid, __ATOMIC_SEQ_CST))
		sched_yield();
	process->next = processes;
	processes = process;
	return process->pid;
}

int process_add_thread(void *(*main)(void *arg), void *arg)
{
	return begin(engine_self->process, main, arg);
}

pid_t process_thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static _Noreturn void stop(void)
{
	for (;;)
		pause();
}

void engine_enter(void)
{
	struct engine_process *process = engine_self->process;

	__atomic_add_fetch(&process->nr_inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&process->is_ending, __ATOMIC_SEQ_CST))
		engine_leave();
}

void engine_leave(void)
{
	struct engine_process *process = engine_self->process;
	bool is_ending = __atomic_load_n(&process->is_ending, __ATOMIC_SEQ_CST);

	__atomic_sub_fetch(&process->nr_inside, 1, __ATOMIC_SEQ_CST);
	if (is_ending)
		stop();
}

static void end(struct engine_process *process)
{
	__atomic_store_n(&process->is_ending, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&process->nr_inside, __ATOMIC_SEQ_CST))
		sched_yield();
	engine_close_all(process);
}

static struct engine_process *find(pid_t pid)
{
	struct engine_process *process = processes;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

void process_kill(pid_t pid)
{
	end(find(pid));
}

void process_exit(void)
{
	end(engine_self->process);
	stop();
}

bool process_has_ended(pid_t pid, int *status)
{
	struct engine_process *process = find(pid);

	if (!__atomic_load_n(&process->is_ending, __ATOMIC_SEQ_CST) || process->is_reaped)
		return false;
	process->is_reaped = true;
	*status = 0;
	return true;
}

/* The compiler's run-time library has this function where the program counts coverage. */
int __llvm_profile_write_file(void) __attribute__((weak));

/* A test ends by _exit(2), which writes no counts. */
void process_end_all(void)
{
	for (struct engine_process *process = processes; process; process = process->next)
		end(process);
	if (!engine_is_empty())
		FAIL("all processes have ended, but the engine has objects left");
	if (__llvm_profile_write_file)
		__llvm_profile_write_file();
}
