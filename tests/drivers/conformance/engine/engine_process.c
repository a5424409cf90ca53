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
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "actor_process.h"
#include "actor_scheduling.h"
#include "engine_process.h"
#include "files.h"
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

/*
 * The scheduling of a thread on the test host is a number, which the engine reads and sets. As in
 * the kernel, a real-time policy leaves the nice value as it was.
 */

static _Thread_local int last_nice;

static bool is_realtime(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

void sched_need(void)
{
}

void thread_scheduling(struct scheduling *found)
{
	const struct host_priority *has = &engine_self->priority;

	if (!is_realtime(has->policy))
		last_nice = has->prio;
	found->policy = has->policy;
	found->nice = last_nice;
	found->prio = is_realtime(has->policy) ? has->prio : 0;
}

void thread_set_policy(int policy, int prio)
{
	struct scheduling before;

	thread_scheduling(&before);
	engine_self->priority = (struct host_priority){
		.policy = (u8)policy,
		.prio = (s8)(is_realtime(policy) ? prio : before.nice),
	};
}

void thread_set_nice(int nice)
{
	last_nice = nice;
	if (!is_realtime(engine_self->priority.policy))
		engine_self->priority.prio = (s8)nice;
}

void thread_drop_privileges(unsigned int rlimit_nice, unsigned int rlimit_rtprio)
{
	(void)rlimit_nice;
	(void)rlimit_rtprio;
	test_skip("processes of the test host have no limits");
}

/*
 * The files of files.h on the test host, where a file is an identity: the texts are kept here, by
 * that. Each open has a table of descriptors.
 */

#define NR_TEXTS 256

static char texts[NR_TEXTS][16];

static uint32_t id_of(struct client *client, int fd)
{
	return sim_file_id(engine_sim(client->port->fd), (uint32_t)fd);
}

int make_file(struct client *client, const char *text)
{
	struct sim_proc *sim = engine_sim(client->port->fd);
	uint32_t fd = sim_file_open(sim), id = sim_file_id(sim, fd);

	EXPECT(id < NR_TEXTS);
	strncpy(texts[id], text, sizeof(texts[id]) - 1);
	return (int)fd;
}

void expect_file(struct client *client, int fd, const char *text)
{
	uint32_t id = id_of(client, fd);

	EXPECT(id);
	if (strcmp(texts[id], text))
		FAIL("descriptor %d holds \"%s\", expected \"%s\"", fd, texts[id], text);
}

void expect_closed(struct client *client, int fd)
{
	EXPECT_EQ(id_of(client, fd), 0);
}

int file_flags(struct client *client, int fd)
{
	(void)client;
	(void)fd;
	test_skip("a simulated file has no flags");
}

void close_file(struct client *client, int fd)
{
	sim_file_close(engine_sim(client->port->fd), (uint32_t)fd);
}
