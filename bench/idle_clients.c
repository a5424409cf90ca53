// SPDX-License-Identifier: GPL-2.0
/*
 * Many idle binder clients, for what each costs the driver: the open file, its buffer map, a thread
 * that waits in the driver, and a reference. Each makes one call first, so that what the driver
 * sets up late is counted too.
 */
#include "bench/idle_clients.h"

#include "bench/fail.h"
#include "bench/registry.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd;

static void signal_ready(void)
{
	if (write(ready_fd, "", 1) != 1)
		fail_errno("write");
}

/* Opens the device, publishes or looks up the one server, and sleeps in a read. */
static void idle(const char *device, bool is_server)
{
	struct binder_transaction_data got;
	struct wire wire;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	if (is_server)
		registry_publish(&wire, 0);
	else
		registry_lookup(&wire, 0);
	wire_put(&wire, BC_ENTER_LOOPER, NULL, 0);
	signal_ready();
	wire_wait(&wire, &got);
	fail("an idle process received a call");
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
			fail("an idle client failed");
}

void idle_clients_run(const char *device, int nr_clients)
{
	int ends[2];

	if (pipe(ends))
		fail_errno("pipe");
	ready_fd = ends[1];
	setpgid(0, 0);
	if (fork_child())
		registry_run(device, signal_ready);
	wait_ready(ends[0], 1);
	if (fork_child())
		idle(device, true);
	wait_ready(ends[0], 1);
	for (int i = 0; i < nr_clients; i++)
		if (fork_child())
			idle(device, false);
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
