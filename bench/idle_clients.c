// SPDX-License-Identifier: GPL-2.0
/*
 * Many idle binder clients, for what each costs the driver: the open file, its buffer map, threads
 * that wait in the driver, and a reference or objects. Each makes calls first, so that what the
 * driver sets up late is counted too.
 */
#include "bench/idle_clients.h"

#include "bench/child.h"
#include "bench/fail.h"
#include "bench/registry.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd;

static void signal_ready(void)
{
	if (write(ready_fd, "", 1) != 1)
		fail_errno("write");
}

static void *wait_for_call(void *arg)
{
	struct wire *wire = arg;
	struct binder_transaction_data got;

	wire_put(wire, BC_ENTER_LOOPER, NULL);
	signal_ready();
	wire_wait_call(wire, &got);
	fail("an idle process received a call");
}

static void start_thread(const struct wire *first)
{
	struct wire *wire = calloc(1, sizeof(*wire));
	pthread_t thread;

	if (!wire)
		fail("no memory for a thread");
	wire_share(wire, first);
	if (pthread_create(&thread, NULL, wait_for_call, wire))
		fail_errno("a thread of an idle client");
}

/* Opens the device, publishes @nr_objects from number @first on or looks up 0, and sleeps. */
static void idle(const char *device, int first, int nr_objects, int nr_threads)
{
	struct wire wire;

	wire_open(&wire, device, 0);
	for (int i = 0; i < nr_objects; i++)
		registry_publish(&wire, (uint64_t)(first + i));
	if (!nr_objects)
		registry_lookup(&wire, 0);
	for (int i = 1; i < nr_threads; i++)
		start_thread(&wire);
	wait_for_call(&wire);
}

static void wait_ready(int fd, int nr)
{
	char byte;

	while (nr--)
		if (read(fd, &byte, 1) != 1)
			fail("an idle client failed");
}

static void start_clients(const char *device, const struct idle_clients *wanted)
{
	int published = 0;

	for (int i = 0; i < wanted->nr_clients; i++) {
		int end = (int)((long)wanted->nr_objects * (i + 1) / wanted->nr_clients);

		if (!child_fork())
			idle(device, published, end - published, wanted->nr_threads);
		published = end;
	}
}

void idle_clients_run(const char *device, const struct idle_clients *wanted)
{
	int ends[2];

	if (pipe(ends))
		fail_errno("pipe");
	ready_fd = ends[1];
	setpgid(0, 0);
	if (!child_fork())
		registry_run(device, signal_ready);
	wait_ready(ends[0], 1);
	if (wanted->nr_objects < wanted->nr_clients) {
		if (!child_fork())
			idle(device, 0, 1, 1);
		wait_ready(ends[0], 1);
	}
	start_clients(device, wanted);
	close(ready_fd);
	wait_ready(ends[0], wanted->nr_clients * wanted->nr_threads);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
}
