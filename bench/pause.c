// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that notice for how long a driver does not answer.
 *
 * A pause is the longest call of a client. A pause that begins during a rest of the client seems
 * shorter by no more than that rest.
 */
#include "bench/pause.h"

#include "bench/cell.h"
#include "bench/child.h"
#include "bench/fail.h"
#include "bench/registry.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REST_US 200
#define LOOK_US 1000
#define MAX_PAIRS 16

/* The last numbers of the registry, which nobody else uses. */
#define FIRST_SERVER 65000

/* Of each client. */
struct watch {
	atomic_uint_fast64_t nr_calls;
	atomic_uint_fast64_t worst_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void serve(const char *device, int pair, struct watch *watch)
{
	struct binder_transaction_data reply = wire_message(0), got;
	struct wire wire;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	registry_publish(&wire, (uint64_t)(FIRST_SERVER + pair));
	wire_put(&wire, BC_ENTER_LOOPER, NULL, 0);
	atomic_store(&watch->nr_calls, 1);	/* it is ready */
	for (;;) {
		if (wire_wait(&wire, &got) != BR_TRANSACTION)
			fail("the server received a reply instead of a call");
		wire_free(&wire, got.data.ptr.buffer);
		wire_reply(&wire, &reply);
	}
}

static void call(const char *device, int pair, struct watch *watch)
{
	struct binder_transaction_data request = wire_message(0), answer;
	struct wire wire;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	request.target.handle = registry_lookup(&wire, (uint64_t)(FIRST_SERVER + pair));
	for (;;) {
		uint64_t begin = now_ns(), duration;

		wire_call(&wire, &request, &answer);
		duration = now_ns() - begin;
		wire_free(&wire, answer.data.ptr.buffer);
		if (duration > atomic_load(&watch->worst_ns))
			atomic_store(&watch->worst_ns, duration);
		atomic_fetch_add(&watch->nr_calls, 1);
		usleep(REST_US);
	}
}

/* Until @watch has counted @end calls. */
static void wait_for_calls(struct watch *watch, uint64_t end)
{
	while (atomic_load(&watch->nr_calls) < end) {
		if (waitpid(-1, NULL, WNOHANG))
			fail("a client or a server ended");
		usleep(LOOK_US);
	}
}

/* The call that was under way, and one that certainly began afterwards, are included. */
static void print_worst(struct watch *watches, int nr_pairs)
{
	for (int i = 0; i < nr_pairs; i++) {
		wait_for_calls(&watches[i], atomic_load(&watches[i].nr_calls) + 2);
		printf("%s%.1f", i ? " " : "",
		       (double)atomic_exchange(&watches[i].worst_ns, 0) / 1e3);
	}
	puts("");
	fflush(stdout);
}

void pause_run(const char *device, int nr_pairs)
{
	struct watch *watches = cell_shared_memory(MAX_PAIRS * sizeof(*watches));
	int letter;

	if (nr_pairs < 1 || nr_pairs > MAX_PAIRS)
		fail("pause needs --pairs from 1 to %d", MAX_PAIRS);
	setpgid(0, 0);
	for (int i = 0; i < nr_pairs; i++) {
		if (!child_fork())
			serve(device, i, &watches[i]);
		wait_for_calls(&watches[i], 1);
		if (!child_fork())
			call(device, i, &watches[i]);
		wait_for_calls(&watches[i], 10);
	}
	puts("ready");
	fflush(stdout);
	while ((letter = getchar()) != EOF)
		if (letter == '\n')
			print_worst(watches, nr_pairs);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
}
