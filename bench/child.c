// SPDX-License-Identifier: GPL-2.0
/*
 * Children of a measurement. The kernel kills them with their parent; one whose parent ended before
 * it could ask for that ends by itself.
 */
#include "bench/child.h"

#include "bench/fail.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

pid_t child_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		fail_errno("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}
