// SPDX-License-Identifier: GPL-2.0
/* Processes of the kernel, children of the director, and device files that a driver serves. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor_process.h"
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
