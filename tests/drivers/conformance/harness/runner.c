// SPDX-License-Identifier: GPL-2.0
/*
 * Each test is a child with its own process group. When it has ended, the rest of the group is
 * killed, and everything is reaped (this process is the subreaper) before the next test starts: no
 * binder file of one test is open in the next.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "actor_process.h"
#include "harness.h"

#define REAP_TIMEOUT_MS 10000

static sigset_t child_signal;

void runner_init(void)
{
	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
}

/* Wait for one child, at most until the deadline. 0 when time is up, -1 when there is none. */
static pid_t wait_until(pid_t pid, int *status, int64_t deadline)
{
	for (;;) {
		struct timespec pause = { 0, 50000000 };
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got)
			return got;
		if (now_ms() >= deadline)
			return 0;
		sigtimedwait(&child_signal, NULL, &pause);
	}
}

static void run_child(const struct test *test, const char *dir, const char *device,
		      const char *other_device, int output)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	sigprocmask(SIG_UNBLOCK, &child_signal, NULL);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	test_begin(dir, device, other_device);
	test->run();
	process_end_all();
	_exit(TEST_PASSED);
}

static void add_output(struct result *result, const char *text)
{
	size_t used = strlen(result->output);

	snprintf(result->output + used, sizeof(result->output) - used, "%s\n", text);
}

static void judge(struct result *result, pid_t got, int status)
{
	char text[64];

	result->outcome = OUTCOME_FAILED;
	if (!got) {
		add_output(result, "timed out");
	} else if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "died of signal %d", WTERMSIG(status));
		add_output(result, text);
	} else if (WEXITSTATUS(status) == TEST_PASSED) {
		result->outcome = OUTCOME_PASSED;
	} else if (WEXITSTATUS(status) == TEST_SKIPPED) {
		result->outcome = OUTCOME_SKIPPED;
	}
}

void runner_run(const struct test *test, const char *dir, const char *device,
		const char *other_device, int timeout_ms, struct result *result)
{
	int64_t start = now_ms();
	int output = memfd_create("test output", MFD_CLOEXEC);
	int status = 0;
	ssize_t size;
	pid_t pid, got;

	fflush(NULL);
	pid = fork();
	if (pid < 0 || output < 0) {
		perror("conformance: starting a test");
		exit(2);
	}
	if (pid == 0)
		run_child(test, dir, device, other_device, output);
	setpgid(pid, pid);
	got = wait_until(pid, &status, start + timeout_ms);
	kill(-pid, SIGKILL);
	if (!got)
		wait_until(pid, &(int){ 0 }, now_ms() + REAP_TIMEOUT_MS);
	while ((pid = wait_until(-1, &(int){ 0 }, now_ms() + REAP_TIMEOUT_MS)) > 0)
		;
	size = pread(output, result->output, sizeof(result->output) - 64, 0);
	result->output[size > 0 ? size : 0] = '\0';
	close(output);
	judge(result, got, status);
	if (pid == 0) {
		add_output(result, "a process of the test cannot be killed");
		result->outcome = OUTCOME_FAILED;
	}
	result->elapsed_ms = now_ms() - start;
}
