// SPDX-License-Identifier: GPL-2.0
/*
 * Runs every schedule of each small world, each world in a process of its own. A schedule that
 * fails ends that, with the steps of its threads.
 */
#include "worlds.h"
#include "explore.h"

#include "tests/lib/tap.h"
#include "tests/version.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTCOMES 65536 /* a power of two */
#define WORLDS_MAX 64
#define SCHEDULES_MAX 1000000 /* of a world */

struct found {
	struct explored explored;
	u32 nr_outcomes;
	u64 outcomes; /* a hash of all */
	u64 checked;  /* schedules that were run with less reduction */
	bool done, cut; /* cut: more schedules than the limit */
	const char *differs; /* the reduction without which there were other outcomes */
};

static const char *only = "";
static bool runs_long;
static u64 shown = ~0ull;
static struct found *found; /* by world; shared with the processes that run them */

/* ---- one world -------------------------------------------------------------------------- */

static bool is_new(u64 *outcomes, u64 outcome)
{
	u32 at = (u32)(outcome * 0x9e3779b97f4a7c15 >> 48);

	outcome |= !outcome;
	while (outcomes[at] && outcomes[at] != outcome)
		at = (at + 1) % OUTCOMES;
	if (outcomes[at])
		return false;
	outcomes[at] = outcome;
	return true;
}

static void explore(const struct world *world, enum reduction how, struct found *f)
{
	static u64 outcomes[OUTCOMES];
	bool more;

	memset(outcomes, 0, sizeof(outcomes));
	*f = (struct found){ .done = false };
	explore_world(how);
	do {
		u64 runs = f->explored.schedules + f->explored.pruned, outcome;

		scenario_verbose = sim_verbose = runs == shown;
		outcome = world_run(world);
		if (!explore_was_pruned() && is_new(outcomes, outcome)) {
			f->outcomes += outcome * 0xd1342543de82ef95;
			if (++f->nr_outcomes > OUTCOMES / 2)
				scenario_fail("world %s: too many outcomes", world->name);
		}
		f->cut = runs + 1 >= SCHEDULES_MAX;
		more = !f->cut && explore_next();
		f->explored = *explore_result();
	} while (more);
}

/* Without a part of the reduction there may be more schedules, but no other outcomes. */
static void check_reduction(const struct world *world, enum reduction how, struct found *f,
			    const char *what)
{
	struct found again;

	explore(world, how, &again);
	f->checked += again.explored.schedules + again.explored.pruned;
	f->cut |= again.cut;
	if (again.outcomes != f->outcomes || again.nr_outcomes != f->nr_outcomes)
		f->differs = what;
}

static void run_world(const struct world *world, struct found *f)
{
	explore(world, REDUCE_ALL, f);
	if (world->kind == CHECKED || world->kind == TINY)
		check_reduction(world, REDUCE_SLEEP, f, "source sets");
	if (world->kind == TINY)
		check_reduction(world, REDUCE_NOT, f, "sleep sets");
	f->done = true;
}

static void report_world(const struct world *world, const struct found *f)
{
	const struct explored *e = &f->explored;

	printf("# %-32s %8llu schedules, %8llu pruned, %9llu states, %10llu steps (%u at most), "
	       "%u outcomes%s\n",
	       world->name, (unsigned long long)e->schedules, (unsigned long long)e->pruned,
	       (unsigned long long)e->states, (unsigned long long)e->steps, e->longest,
	       f->nr_outcomes, f->cut ? ": not all of them" : f->done ? "" : ": FAILED");
	if (!f->done)
		printf("again with\n  anybinder-sim-exhaustive --world '%s' --show %llu\n",
		       world->name, (unsigned long long)(e->schedules + e->pruned));
	if (f->checked)
		printf("# %-32s %8llu schedules without reduction: %s%s\n", "",
		       (unsigned long long)f->checked,
		       f->differs ? "other outcomes without " : "the same outcomes",
		       f->differs ? f->differs : "");
	fflush(stdout);
}

/* ---- all -------------------------------------------------------------------------------- */

static bool is_wanted(const struct world *world)
{
	return *only ? !strcmp(world->name, only) : runs_long || world->kind != LONG;
}

static pid_t start(u32 which)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_world(&worlds[which], &found[which]);
	exit(0);
}

static void run_all(struct explored *sum, struct tap *tap)
{
	u32 workers = (u32)sysconf(_SC_NPROCESSORS_ONLN);
	pid_t pids[WORLDS_MAX] = { 0 }, pid = 0;
	u32 next = 0, running = 0, i;
	int status;

	for (;;) {
		for (; next < nr_worlds && running < workers; next++) {
			if (!is_wanted(&worlds[next]))
				continue;
			pids[next] = start(next);
			running++;
		}
		if (!running || (pid = wait(&status)) < 0)
			return;
		running--;
		for (i = 0; pids[i] != pid;)
			i++;
		report_world(&worlds[i], &found[i]);
		tap_case(tap, found[i].done && !found[i].differs &&
			      (!found[i].cut || worlds[i].kind == LONG), worlds[i].name);
		sum->schedules += found[i].explored.schedules;
		sum->pruned += found[i].explored.pruned;
		sum->states += found[i].explored.states;
		sum->steps += found[i].explored.steps;
	}
}

static void usage(FILE *to)
{
	fprintf(to, "usage: anybinder-sim-exhaustive [--long] [--world NAME] [--show N]\n"
		    "Runs every schedule of each small world, or of the one named NAME; with\n"
		    "--long also of those that take longer. After a million schedules a world\n"
		    "fails, or is left if it takes longer. --show prints what happens in schedule\n"
		    "N, from 0.\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "long", no_argument, NULL, 'l' },
		{ "world", required_argument, NULL, 'w' },
		{ "show", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'l')
			runs_long = true;
		else if (option == 'w')
			only = optarg;
		else if (option == 's')
			shown = strtoull(optarg, NULL, 0);
		else
			usage(option == 'h' ? stdout : stderr);
		if (option == 'h' || option == '?')
			exit(option == 'h' ? 0 : 2);
	}
	if (optind < argc || nr_worlds > WORLDS_MAX) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	u32 nr = 0, i;
	struct rlimit no_core = { 0, 0 };
	struct explored sum = { 0 };
	struct tap tap = { 0 };
	time_t began = time(NULL);

	version_if_asked(argc, argv);
	parse(argc, argv);
	setrlimit(RLIMIT_CORE, &no_core);
	found = mmap(NULL, WORLDS_MAX * sizeof(*found), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (found == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	for (i = 0; i < nr_worlds; i++)
		nr += is_wanted(&worlds[i]);
	run_all(&sum, &tap);
	printf("# %u worlds, %llu schedules, %llu pruned, %llu states, %llu steps, %lld s\n", nr,
	       (unsigned long long)sum.schedules, (unsigned long long)sum.pruned,
	       (unsigned long long)sum.states, (unsigned long long)sum.steps,
	       (long long)(time(NULL) - began));
	return tap_end(&tap);
}
