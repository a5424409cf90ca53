// SPDX-License-Identifier: GPL-2.0
/*
 * A crowd: many binder clients that do nothing but be there.
 *
 * What a client costs the driver while it is idle: the open file, its buffer map, a thread that
 * waits in the driver, and the reference it holds. Each makes one call first, so that nothing that
 * is set up late stays uncounted.
 */
#include "bench/crowd.h"

#include "bench/fail.h"
#include "bench/registry.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd;

static void tell_ready(void)
{
	if (write(ready_fd, "", 1) != 1)
		fail_errno("write");
}

static void visitor(const char *device)
{
	struct binder_transaction_data got;
	struct wire wire;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	registry_lookup(&wire, 0);
	wire_put(&wire, BC_ENTER_LOOPER, NULL, 0);
	tell_ready();
	wire_wait(&wire, &got);
	fail("somebody called");
}

static void host(const char *device)
{
	struct binder_transaction_data got;
	struct wire wire;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	registry_publish(&wire, 0);
	wire_put(&wire, BC_ENTER_LOOPER, NULL, 0);
	tell_ready();
	wire_wait(&wire, &got);
	fail("somebody called");
}

static bool fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail_errno("fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return !pid;
}

static void wait_ready(int fd, int nr)
{
	char byte;

	while (nr--)
		if (read(fd, &byte, 1) != 1)
			fail("a client of the crowd failed");
}

void crowd_run(const char *device, int nr_clients)
{
	int ends[2];

	if (pipe(ends))
		fail_errno("pipe");
	ready_fd = ends[1];
	setpgid(0, 0);
	if (fork_child())
		registry_run(device, tell_ready);
	wait_ready(ends[0], 1);
	if (fork_child())
		host(device);
	wait_ready(ends[0], 1);
	for (int i = 0; i < nr_clients; i++)
		if (fork_child())
			visitor(device);
	close(ready_fd);
	wait_ready(ends[0], nr_clients);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
}
