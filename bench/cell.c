// SPDX-License-Identifier: GPL-2.0
/*
 * A cell of a comparison: one measurement, its processes and its figures.
 *
 * The parent forks a helper (if the peer has one), the servers and the clients, in this order, each
 * group when the one before is ready. A client is ready after its warm-up; then the parent sets one
 * starting time for all. Everything shared is in one anonymous mapping, and waiting is polling: it
 * happens outside the measured time, and does not hang if a process dies. Each client records the
 * duration of every call in a histogram of its own.
 */
#include "bench/cell.h"

#include "bench/child.h"
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/profile_window.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PAIRS 64
#define SETUP_LIMIT_S 120
#define COUNT_LIMIT_S 600	/* for a number of calls, however slow they are */
#define POLL_US 100

/* The figures of one client. */
struct client_figures {
	uint64_t end_ns;
	uint64_t user_us, system_us;
	struct histogram calls;
};

/* What the processes share. */
struct shared {
	atomic_int nr_ready;	/* helpers and servers, and clients after their warm-up */
	atomic_ulong start_ns;	/* 0: not yet */
	struct client_figures client[MAX_PAIRS];
};

static struct shared *shared;
static pid_t children[2 * MAX_PAIRS + 1];
static int nr_children;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

void *cell_shared_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		fail_errno("mmap");
	return memory;
}

void cell_process_ready(void)
{
	atomic_fetch_add(&shared->nr_ready, 1);
}

/* Kills every child; adds the CPU time of those not yet waited for to the sums. */
static void kill_all(uint64_t *user_us, uint64_t *system_us)
{
	struct rusage used;

	for (int i = 0; i < nr_children; i++)
		kill(children[i], SIGKILL);
	while (wait4(-1, NULL, 0, &used) > 0) {
		*user_us += microseconds(&used.ru_utime);
		*system_us += microseconds(&used.ru_stime);
	}
}

static void give_up(const char *why)
{
	uint64_t ignored = 0;

	kill_all(&ignored, &ignored);
	fail("%s", why);
}

/* A child that ends too early ends the measurement. */
static void check_children(void)
{
	if (waitpid(-1, NULL, WNOHANG) > 0)
		give_up("a process ended too early");
}

static void wait_ready(int wanted)
{
	uint64_t limit_ns = now_ns() + SETUP_LIMIT_S * 1000000000ull;

	while (atomic_load(&shared->nr_ready) < wanted) {
		check_children();
		if (now_ns() > limit_ns)
			give_up("a process did not get ready in time");
		usleep(POLL_US);
	}
}

static bool fork_child(void)
{
	pid_t pid = child_fork();

	if (pid) {
		children[nr_children++] = pid;
		return false;
	}
	nr_children = 0;
	return true;
}

static void cpu_used(uint64_t *user_us, uint64_t *system_us)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	*user_us = microseconds(&used.ru_utime);
	*system_us = microseconds(&used.ru_stime);
}

static bool is_enough(const struct cell *cell, uint64_t calls, uint64_t time_ns, uint64_t end_ns)
{
	return cell->nr_calls ? calls >= cell->nr_calls : time_ns >= end_ns;
}

static bool is_measured(const struct cell *cell, int pair)
{
	return !cell->nr_measured || pair < cell->nr_measured;
}

static void measure(const struct cell *cell, void *connection, struct client_figures *mine,
		    uint64_t start_ns)
{
	bool pauses = cell->delay_us && is_measured(cell, (int)(mine - shared->client));
	uint64_t end_ns = start_ns + (uint64_t)cell->duration_ms * 1000000, last_ns = now_ns();
	const struct peer *peer = cell->peer;

	while (!is_enough(cell, mine->calls.count, last_ns, end_ns)) {
		uint64_t at_ns;

		if (peer->before_call) {
			peer->before_call(connection);
			last_ns = now_ns();
		}
		PROFILE_INSTRUCTION(PROFILE_CALL);
		peer->call(connection);
		at_ns = now_ns();
		histogram_add(&mine->calls, at_ns - last_ns);
		last_ns = at_ns;
		if (pauses) {
			usleep((useconds_t)cell->delay_us);
			last_ns = now_ns();
		}
	}
	mine->end_ns = last_ns;
}

/* Applies @scheduling to process @number of the measurement, which may have a CPU of its own. */
static void schedule(const struct cell *cell, const struct scheduling *scheduling, int number)
{
	struct scheduling mine = *scheduling;

	if (cell->has_own_cpus) {
		mine.has_cpus = true;
		CPU_ZERO(&mine.cpus);
		CPU_SET((size_t)number, &mine.cpus);
	}
	scheduling_apply(&mine);
}

static void client(void *state, const struct cell *cell, int pair)
{
	const struct scheduling *scheduling = &cell->clients;
	struct client_figures *mine = &shared->client[pair];
	uint64_t start_ns, user_us, system_us;
	void *connection;

	if (cell->each_client)
		scheduling = &cell->each_client[pair];
	connection = cell->peer->connect(state, cell, pair);
	memset(&mine->calls, 0, sizeof(mine->calls));
	for (int i = 0; i < CELL_WARM_UP_CALLS; i++) {
		if (cell->peer->before_call)
			cell->peer->before_call(connection);
		cell->peer->call(connection);
	}
	/* Not earlier: with a low priority a client would take long to get ready. */
	schedule(cell, scheduling, 2 * pair);
	cell_process_ready();
	while (!(start_ns = atomic_load(&shared->start_ns)))
		usleep(POLL_US);
	cpu_used(&user_us, &system_us);
	PROFILE_INSTRUCTION(PROFILE_BEGIN);
	measure(cell, connection, mine, start_ns);
	PROFILE_INSTRUCTION(PROFILE_END);
	cpu_used(&mine->user_us, &mine->system_us);
	mine->user_us -= user_us;
	mine->system_us -= system_us;
	_exit(0);
}

static void wait_clients(int first, const struct cell *cell)
{
	uint64_t limit_ns = now_ns() + (uint64_t)cell->duration_ms * 1000000 + 10000000000ull;
	int left = cell->nr_pairs;

	if (cell->nr_calls)
		limit_ns = now_ns() + COUNT_LIMIT_S * 1000000000ull;
	else
		usleep((useconds_t)cell->duration_ms * 1000);
	while (left) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		bool is_client = false;

		for (int i = first; pid > 0 && i < nr_children; i++)
			is_client |= children[i] == pid;
		if (is_client && status == 0) {
			left--;
		} else if (pid > 0 || now_ns() > limit_ns) {
			give_up("a process failed or hung");
		} else {
			usleep(10 * POLL_US);
		}
	}
}

static void sum_up(const struct cell *cell, struct result *result, uint64_t user_us,
		   uint64_t system_us)
{
	uint64_t start_ns = atomic_load(&shared->start_ns), end_ns = start_ns;
	struct histogram *all = &result->histogram;
	double nr;

	memset(all, 0, sizeof(*all));
	result->nr_calls = 0;
	result->clients = calloc((size_t)cell->nr_pairs, sizeof(*result->clients));
	if (!result->clients)
		fail("no memory");
	for (int i = 0; i < cell->nr_pairs; i++) {
		struct client_figures *one = &shared->client[i];

		if (is_measured(cell, i))
			histogram_merge(all, &one->calls);
		result->nr_calls += one->calls.count;
		result->clients[i] = one->calls;
		end_ns = one->end_ns > end_ns ? one->end_ns : end_ns;
		user_us += one->user_us;
		system_us += one->system_us;
	}
	if (!all->count)
		fail("no call was made");
	nr = (double)result->nr_calls;
	result->seconds = (double)(end_ns - start_ns) / 1e9;
	result->user_us = (double)user_us / nr;
	result->system_us = (double)system_us / nr;
}

static void check_cell(const struct cell *cell)
{
	const struct peer *peer = cell->peer;

	if (cell->nr_pairs < 1 || cell->nr_pairs > MAX_PAIRS)
		fail("%d pairs are not possible; give 1 to %d", cell->nr_pairs, MAX_PAIRS);
	if (peer->needs_address && !cell->address)
		fail("%s needs --address", peer->name);
	if (peer->has_no_payload && (cell->request_bytes || cell->reply_bytes))
		fail("%s carries no payload; leave out --request and --reply", peer->name);
}

void cell_run(const struct cell *cell, struct result *result)
{
	uint64_t servers_user_us = 0, servers_system_us = 0;
	int nr_servers = !cell->peer->serve ? 0 : cell->peer->shares_server ? 1 : cell->nr_pairs;
	int wanted = 0, first_client;
	void *state;

	check_cell(cell);
	shared = cell_shared_memory(sizeof(*shared));
	state = cell->peer->prepare ? cell->peer->prepare(cell) : NULL;
	if (cell->peer->assist) {
		if (fork_child())
			cell->peer->assist(state, cell);
		wait_ready(++wanted);
	}
	for (int i = 0; i < nr_servers; i++)
		if (fork_child()) {
			schedule(cell, &cell->servers, 2 * i + 1);
			cell->peer->serve(state, cell, i);
		}
	wait_ready(wanted += nr_servers);
	first_client = nr_children;
	for (int i = 0; i < cell->nr_pairs; i++)
		if (fork_child())
			client(state, cell, i);
	wait_ready(wanted + cell->nr_pairs);
	atomic_store(&shared->start_ns, now_ns());
	wait_clients(first_client, cell);
	kill_all(&servers_user_us, &servers_system_us);
	sum_up(cell, result, servers_user_us, servers_system_us);
	munmap(shared, sizeof(*shared));
	nr_children = 0;
}
