// SPDX-License-Identifier: GPL-2.0
/*
 * Runs seeds in as many worker processes as there are processors. A failing seed ends its worker
 * (so do the engine's own checks), and another worker is started for the next seeds.
 */
#include "scenario.h"

#include "common/cover.h"
#include "tests/lib/tap.h"
#include "tests/version.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 64
#define SEED_TIME_S 20

/* Shared by the workers and the parent. */
struct shared {
	u64 next, end; /* seeds: the next one to run */
	u64 current[WORKERS_MAX];
	u64 passed, calls, points, failures, audits, hand_overs, left, bytes;
	u64 trace; /* of all seeds, in whatever order they were run */
	u64 cover[COVER_COUNT];
};

static struct shared *shared;
static struct tap tap;
static struct scenario the_scenario;
static bool hands_over, lose_fields;
static u32 failures_max = 10; /* failed seeds, then the run stops */

u32 binder_cover_counts[COVER_COUNT];
static enum { NO_COVER, WANT_ALL, SHOW_COVER } cover_wanted;

static const struct {
	const char *name, *what;
} cover[] = {
#define COVER_ENTRY(name, what) [COVER_##name] = { #name, what },
	BINDER_COVER_POINTS(COVER_ENTRY)
#undef COVER_ENTRY
};

static u64 hash_of(FILE *file)
{
	u64 hash = 0xcbf29ce484222325;
	u8 block[4096];
	size_t len, i;

	while ((len = fread(block, 1, sizeof(block), file)))
		for (i = 0; i < len; i++)
			hash = (hash ^ block[i]) * 0x100000001b3;
	return hash;
}

/* Identifies the build. */
static u64 build_id(void)
{
	FILE *self = fopen("/proc/self/exe", "rb");
	u64 id = self ? hash_of(self) : 0;

	if (self)
		fclose(self);
	return id;
}

static void add(u64 *sum, u64 n)
{
	__atomic_add_fetch(sum, n, __ATOMIC_RELAXED);
}

static void add_cover_counts(void)
{
	u32 i;

	for (i = 0; i < COVER_COUNT; i++)
		add(&shared->cover[i], binder_cover_counts[i]);
	memset(binder_cover_counts, 0, sizeof(binder_cover_counts));
}

/* Prints which cover points were reached or not; true if all were. */
static bool report_cover(void)
{
	u32 missing = 0, i;

	for (i = 0; i < COVER_COUNT; i++) {
		if (cover_wanted == SHOW_COVER || !shared->cover[i])
			printf("%10llu %s: %s\n", (unsigned long long)shared->cover[i],
			       cover[i].name, cover[i].what);
		missing += !shared->cover[i];
	}
	printf("%u of %u cover points were reached\n", COVER_COUNT - missing, COVER_COUNT);
	return !missing;
}

/*
 * Runs the seed without hand-overs, then with one or three at random points. One in four leaves
 * calls behind; the others must not differ.
 */
static u64 run_and_hand_over(u64 seed)
{
	u64 dice = seed * 0xd1342543de82ef95, trace = scenario_run(seed, &the_scenario, NULL);
	u64 history = the_scenario.history, points = fiber_points();
	struct hand_overs plan = { .nr = fiber_dice(&dice, 10) ? 1 : 3,
				   .leaves = !fiber_dice(&dice, 4),
				   .compare = true };
	u64 again;
	u32 i;

	for (i = 0; i < plan.nr; i++)
		plan.at[i] = points / plan.nr * i + fiber_next(&dice) % (points / plan.nr + 1);
	again = scenario_run(seed, &the_scenario, &plan);
	if (!the_scenario.hand_overs.left && again != trace)
		scenario_fail("hand-over: it was noticed: the run went on in another way");
	if (!the_scenario.hand_overs.left && the_scenario.history != history)
		scenario_fail("hand-over: it was noticed: the engine returned something else");
	return again ^ the_scenario.history;
}

static void work(u32 worker)
{
	u64 seed;

	while ((seed = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < shared->end) {
		u64 trace;

		shared->current[worker] = seed;
		alarm(SEED_TIME_S);
		trace = hands_over ? run_and_hand_over(seed)
				   : scenario_run(seed, &the_scenario, NULL);
		add(&shared->passed, 1);
		add(&shared->calls, the_scenario.calls);
		add(&shared->points, fiber_points());
		add(&shared->failures, the_scenario.failures);
		add(&shared->audits, the_scenario.audits);
		add(&shared->hand_overs, the_scenario.hand_overs.done);
		add(&shared->left, the_scenario.hand_overs.left);
		add(&shared->bytes, the_scenario.hand_overs.bytes);
		add(&shared->trace, trace * (seed | 1));
		add_cover_counts();
		if (scenario_verbose)
			fprintf(stderr, "seed %llu: %llu calls, %llu points, trace %016llx\n",
				(unsigned long long)seed, (unsigned long long)the_scenario.calls,
				(unsigned long long)fiber_points(), (unsigned long long)trace);
	}
}

static pid_t start(u32 worker)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(worker);
		exit(0);
	}
	return pid;
}

static void report_failure(u32 worker, int status)
{
	unsigned long long seed = shared->current[worker];

	const char *how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit";

	char title[40];

	snprintf(title, sizeof(title), "seed %llu", seed);
	printf("%s; again with\n  anybinder-sim --first-seed %llu --seeds 1%s\n", how, seed,
	       hands_over ? " --hand-over" : "");
	tap_case(&tap, false, title);
}

/* Runs all, and reports those that failed. */
static void play_all(u32 nr_workers)
{
	pid_t pids[WORKERS_MAX];
	u32 failed = 0, running = nr_workers, i;
	int status;
	pid_t pid;

	for (i = 0; i < nr_workers; i++)
		pids[i] = start(i);
	while (running && (pid = wait(&status)) > 0) {
		for (i = 0; pids[i] != pid;)
			i++;
		if (!status) {
			running--;
			continue;
		}
		report_failure(i, status);
		if (++failed == failures_max)
			shared->end = 0;
		pids[i] = start(i);
	}
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: anybinder-sim [--first-seed N] [--seeds COUNT] [--failures N] [--cover]\n"
		"                     [--show-cover] [--hand-over] [--fields] [--verbose]\n"
		"Runs COUNT scenarios (default 1000), one for each seed from N (default 1). Exits\n"
		"with 0 if none failed. With --cover each cover point of the engine must be "
		"reached,\n"
		"too; --show-cover prints how often each one was. Stops after 10 failures, or "
		"N.\n"
		"With --hand-over each scenario is run again while the engine is handed over at "
		"random\n"
		"moments, and must not differ. --fields loses each field of the state in turn,\n"
		"which must be found.\n");
}

static void parse(int argc, char **argv, u64 *first, u64 *count)
{
	static const struct option options[] = {
		{ "first-seed", required_argument, NULL, 'f' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "failures", required_argument, NULL, 'F' },
		{ "cover", no_argument, NULL, 'm' },
		{ "show-cover", no_argument, NULL, 'M' },
		{ "hand-over", no_argument, NULL, 'o' },
		{ "fields", no_argument, NULL, 'l' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'f')
			*first = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			*count = strtoull(optarg, NULL, 0);
		else if (option == 'F')
			failures_max = (u32)strtoul(optarg, NULL, 0);
		else if (option == 'm' || option == 'M')
			cover_wanted = option == 'm' ? WANT_ALL : SHOW_COVER;
		else if (option == 'o')
			hands_over = true;
		else if (option == 'l')
			lose_fields = true;
		else if (option == 'v')
			scenario_verbose = sim_verbose = true;
		else
			usage(option == 'h' ? stdout : stderr);
		if (option == 'h' || option == '?')
			exit(option == 'h' ? 0 : 2);
	}
	if (optind < argc || !*count) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	u64 first = 1, count = 1000;
	u32 workers = (u32)sysconf(_SC_NPROCESSORS_ONLN);
	char title[60];
	struct rlimit no_core = { 0, 0 };
	time_t began = time(NULL);

	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	version_if_asked(argc, argv);
	parse(argc, argv, &first, &count);
	setrlimit(RLIMIT_CORE, &no_core);
	if (lose_fields)
		return fields_main(workers);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	shared->next = first;
	shared->end = first + count;
	if (workers > count)
		workers = (u32)count;
	printf("anybinder-sim: build %016llx, seeds %llu to %llu\n", (unsigned long long)build_id(),
	       (unsigned long long)first, (unsigned long long)(first + count - 1));
	fflush(stdout);
	play_all(workers);
	printf("%llu calls (%llu failed sends), %llu scheduling points, %llu audits, %lld s, "
	       "trace %016llx\n",
	       (unsigned long long)shared->calls, (unsigned long long)shared->failures,
	       (unsigned long long)shared->points, (unsigned long long)shared->audits,
	       (long long)(time(NULL) - began), (unsigned long long)shared->trace);
	if (hands_over)
		printf("%llu hand-overs, %llu calls left behind, %llu bytes of state\n",
		       (unsigned long long)shared->hand_overs, (unsigned long long)shared->left,
		       (unsigned long long)shared->bytes);
	snprintf(title, sizeof(title), "%llu seeds", (unsigned long long)count);
	tap_case(&tap, shared->passed == count, title);
	if (cover_wanted)
		tap_case(&tap, report_cover(), "every cover point");
	return tap_end(&tap);
}
