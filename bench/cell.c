// SPDX-License-Identifier: GPL-2.0
/*
 * A cell of a comparison: one measurement, its processes and its record.
 *
 * The parent forks a helper (if the peer has one), the servers and the clients, in this order, each
 * group when the one before is ready. A client is ready after its warm-up; then the parent sets one
 * starting time for all. Everything shared is in one anonymous mapping, and waiting is polling: it
 * happens outside the measured time, and does not hang if a process dies. Each client records the
 * duration of every call in a histogram of its own.
 */
#include "bench/cell.h"

#include "bench/fail.h"
#include "bench/peer.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PAIRS 10240
#define SETUP_LIMIT_S 120
#define COUNT_LIMIT_S 600	/* for a number of calls, however slow they are */
#define POLL_US 100
#define CACHE_LINE 64

/*
 * A histogram of durations: how often each occurred, to within 0.4 %.
 *
 * A bucket is what durations have in common in the highest bits of their floating-point form: the
 * exponent and seven bits of the fraction, so each power of two is divided into 128 equal buckets,
 * as in HdrHistogram. A client records millions of calls in a few kilobytes, and recording one
 * disturbs the caches no more than appending it to a list would.
 */

/* Up to 2^40 ns, 18 minutes; longer durations count as that. */
#define HISTOGRAM_BUCKETS 5120

/* All zeroes: empty. */
struct histogram {
	uint64_t count, total_ns; /* exact */
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

#define FRACTION_BITS 7
#define SHIFT (52 - FRACTION_BITS)	/* the bits of the fraction that are left out */
#define BUCKET_OF_ONE (1023u << FRACTION_BITS)

static unsigned int bucket_of(uint64_t value)
{
	double number = value ? (double)value : 1;
	uint64_t bits, bucket;

	memcpy(&bits, &number, sizeof(bits));
	bucket = (bits >> SHIFT) - BUCKET_OF_ONE;
	return bucket < HISTOGRAM_BUCKETS ? (unsigned int)bucket : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned int bucket)
{
	uint64_t bits = (uint64_t)(bucket + BUCKET_OF_ONE) << SHIFT | 1ull << (SHIFT - 1);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return (uint64_t)number;
}

/* Takes no lock; one writer only. */
static void histogram_add(struct histogram *histogram, uint64_t duration_ns)
{
	histogram->count++;
	histogram->total_ns += duration_ns;
	histogram->buckets[bucket_of(duration_ns)]++;
}

static void histogram_merge(struct histogram *to, const struct histogram *from)
{
	to->count += from->count;
	to->total_ns += from->total_ns;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

/* The sum and the buckets in use, as members of a JSON object. */
static void histogram_print(const struct histogram *histogram)
{
	const char *before = "";

	printf("\"total_ns\": %lu, \"histogram_ns\": [", histogram->total_ns);
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		printf("%s[%lu, %u]", before, value_of(i), histogram->buckets[i]);
		before = ", ";
	}
	putchar(']');
}

/* ---- the processes of a cell ---- */

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

uint64_t cell_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct scheduling scheduling_parse(const char *text)
{
	struct scheduling parsed = { .has_policy = true, .policy = SCHED_OTHER };
	int *priority = &parsed.priority, taken = 0;

	if (sscanf(text, "other:%d%n", priority, &taken) == 1 && !text[taken])
		return parsed;
	parsed.policy = SCHED_FIFO;
	if (sscanf(text, "fifo:%d%n", priority, &taken) == 1 && !text[taken])
		return parsed;
	fail("%s is not a policy; write other:-20 to other:19 or fifo:1 to fifo:99", text);
}

static void scheduling_apply(const struct scheduling *scheduling)
{
	struct sched_param param = { .sched_priority = scheduling->priority };

	if (!scheduling->has_policy)
		return;
	if (scheduling->policy == SCHED_OTHER && setpriority(PRIO_PROCESS, 0, scheduling->priority))
		fail_errno("cannot set nice value %d", scheduling->priority);
	if (scheduling->policy == SCHED_FIFO && sched_setscheduler(0, SCHED_FIFO, &param))
		fail_errno("cannot set real-time priority %d", scheduling->priority);
}

void *payload_new(size_t size)
{
	void *data;

	if (posix_memalign(&data, 4096, size ? size : 1))
		fail("no memory for a payload of %zu bytes", size);
	memset(data, 0x5a, size ? size : 1);
	return data;
}

void payload_read(const void *data, size_t size)
{
	const volatile uint8_t *bytes = data;

	for (size_t at = 0; at < size; at += CACHE_LINE)
		(void)bytes[at];
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
	uint64_t limit_ns = cell_now_ns() + SETUP_LIMIT_S * 1000000000ull;

	while (atomic_load(&shared->nr_ready) < wanted) {
		check_children();
		if (cell_now_ns() > limit_ns)
			give_up("a process did not get ready in time");
		usleep(POLL_US);
	}
}

pid_t cell_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		fail_errno("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A parent that ended before sends no signal any more. */
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

static bool fork_child(void)
{
	pid_t pid = cell_fork();

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
	uint64_t end_ns = start_ns + (uint64_t)cell->duration_ms * 1000000, last_ns = cell_now_ns();
	const struct peer *peer = cell->peer;

	while (!is_enough(cell, mine->calls.count, last_ns, end_ns)) {
		uint64_t at_ns;

		if (peer->before_call) {
			peer->before_call(connection);
			last_ns = cell_now_ns();
		}
		peer->call(connection);
		at_ns = cell_now_ns();
		histogram_add(&mine->calls, at_ns - last_ns);
		last_ns = at_ns;
		if (pauses) {
			usleep((useconds_t)cell->delay_us);
			last_ns = cell_now_ns();
		}
	}
	mine->end_ns = last_ns;
}

/* The class of a client: the first ones are of the first class. */
static int class_of(const struct cell *cell, int pair)
{
	return pair / (cell->nr_pairs / cell->nr_classes);
}

static void client(void *state, const struct cell *cell, int pair)
{
	struct client_figures *mine = &shared->client[pair];
	uint64_t start_ns, user_us, system_us;
	void *connection = cell->peer->connect(state, cell, pair);

	memset(&mine->calls, 0, sizeof(mine->calls));
	for (int i = 0; i < CELL_WARM_UP_CALLS; i++) {
		if (cell->peer->before_call)
			cell->peer->before_call(connection);
		cell->peer->call(connection);
	}
	/* Not earlier: with a low priority a client would take long to get ready. */
	scheduling_apply(&cell->classes[class_of(cell, pair)].scheduling);
	cell_process_ready();
	while (!(start_ns = atomic_load(&shared->start_ns)))
		usleep(POLL_US);
	cpu_used(&user_us, &system_us);
	measure(cell, connection, mine, start_ns);
	cpu_used(&mine->user_us, &mine->system_us);
	mine->user_us -= user_us;
	mine->system_us -= system_us;
	_exit(0);
}

static void wait_clients(int first, const struct cell *cell)
{
	uint64_t limit_ns = cell_now_ns() + (uint64_t)cell->duration_ms * 1000000 + 10000000000ull;
	int left = cell->nr_pairs;

	if (cell->nr_calls)
		limit_ns = cell_now_ns() + COUNT_LIMIT_S * 1000000000ull;
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
		} else if (pid > 0 || cell_now_ns() > limit_ns) {
			give_up("a process failed or hung");
		} else {
			usleep(10 * POLL_US);
		}
	}
}

/* @user_us, @system_us: processor time of the other processes. */
static void print_record(const struct cell *cell, uint64_t user_us, uint64_t system_us)
{
	uint64_t start_ns = atomic_load(&shared->start_ns), end_ns = start_ns, nr_calls = 0;

	for (int i = 0; i < cell->nr_pairs; i++) {
		const struct client_figures *one = &shared->client[i];

		nr_calls += one->calls.count;
		end_ns = one->end_ns > end_ns ? one->end_ns : end_ns;
		user_us += one->user_us;
		system_us += one->system_us;
	}
	if (!nr_calls)
		fail("no call was made");
	printf("{\"calls\": %lu, \"seconds\": %.9f, \"user_us\": %.2f, \"system_us\": %.2f, "
	       "\"classes\": [", nr_calls, (double)(end_ns - start_ns) / 1e9,
	       (double)user_us / (double)nr_calls, (double)system_us / (double)nr_calls);
	for (int class = 0; class < cell->nr_classes; class++) {
		struct histogram all = { 0 };

		for (int i = 0; i < cell->nr_pairs; i++)
			if (class_of(cell, i) == class && is_measured(cell, i))
				histogram_merge(&all, &shared->client[i].calls);
		printf("%s{\"class\": \"%s\", ", class ? ", " : "", cell->classes[class].name);
		histogram_print(&all);
		putchar('}');
	}
	putchar(']');
	if (cell->peer->report)
		cell->peer->report(cell);
	puts("}");
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

static void keep_idle(void)
{
	uint64_t ignored = 0;

	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	kill_all(&ignored, &ignored);
}

void cell_run(const struct cell *cell)
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
			scheduling_apply(&cell->servers);
			cell->peer->serve(state, cell, i);
		}
	wait_ready(wanted += nr_servers);
	first_client = nr_children;
	for (int i = 0; i < cell->nr_pairs; i++)
		if (fork_child())
			client(state, cell, i);
	wait_ready(wanted + cell->nr_pairs * cell->nr_threads);
	if (!cell->peer->call) {
		keep_idle();
		return;
	}
	atomic_store(&shared->start_ns, cell_now_ns());
	wait_clients(first_client, cell);
	kill_all(&servers_user_us, &servers_system_us);
	print_record(cell, servers_user_us, servers_system_us);
}
