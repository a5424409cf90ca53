// SPDX-License-Identifier: GPL-2.0
/*
 * Processes of the kernel, children of the director, and their scheduling; and device files that a
 * driver serves.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor_process.h"
#include "actor_scheduling.h"
#include "test.h"

const struct port_system *const process_ports = &port_kernel;
const int process_cleanup_ms = 150;

pid_t process_start(void *(*main)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		main(arg);
	}
	return pid;
}

int process_add_thread(void *(*main)(void *arg), void *arg)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, main, arg);
}

pid_t process_thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void process_kill(pid_t pid)
{
	kill(pid, SIGKILL);
}

void process_exit(void)
{
	_exit(0);
}

bool process_has_ended(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) == pid;
}

/* The harness does so, after failed tests as well. */
void process_end_all(void)
{
}

/* ---- scheduling ---- */

void sched_need(void)
{
	struct sched_param one = { 1 };

	if (setpriority(PRIO_PROCESS, 0, -1) || setpriority(PRIO_PROCESS, 0, 0) ||
	    sched_setscheduler(0, SCHED_FIFO, &one))
		test_skip("priorities may not be raised here");
	one.sched_priority = 0;
	if (sched_setscheduler(0, SCHED_OTHER, &one))
		FAIL("sched_setscheduler: %s", test_errno_name(errno));
}

void thread_scheduling(struct scheduling *found)
{
	struct sched_param param;

	found->policy = sched_getscheduler(0);
	found->nice = getpriority(PRIO_PROCESS, 0);
	EXPECT_EQ(sched_getparam(0, &param), 0);
	found->prio = param.sched_priority;
}

void thread_set_policy(int policy, int prio)
{
	struct sched_param param = { prio };

	EXPECT_EQ(sched_setscheduler(0, policy, &param), 0);
}

void thread_set_nice(int nice)
{
	EXPECT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);
}

void thread_drop_privileges(unsigned int rlimit_nice, unsigned int rlimit_rtprio)
{
	const struct rlimit nice = { rlimit_nice, rlimit_nice };
	const struct rlimit rtprio = { rlimit_rtprio, rlimit_rtprio };

	if (setrlimit(RLIMIT_NICE, &nice) || setrlimit(RLIMIT_RTPRIO, &rtprio))
		test_skip("limits may not be raised here");
	EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
}
