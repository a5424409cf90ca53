// SPDX-License-Identifier: GPL-2.0
/*
 * heap-sim [--first-seed N] [--seeds COUNT]: runs seeds in a child process. A failing seed ends the
 * child (so does a deadlock found by the scheduler); the following seeds run in a new child.
 */
#include "play.h"
#include "tests/lib/tap.h"
#include "tests/version.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILURES_MAX 10
/* With at least this many seeds every event must have happened. */
#define ALL_EVENTS_SEEDS 1000
/* One seed in this many is run twice, and must behave the same. */
#define REPEAT_ONE_IN 64

struct shared {
	u64 seed;	/* being run */
	unsigned long happened[SIM_EVENTS];
};

static const char *const event_names[SIM_EVENTS] = {
	[PUSH_AGAIN] = "a push that was retried",
	[TAKEN_ADD] = "an adder that found the lock taken",
	[TAKEN_REMOVE] = "a remover that found the lock taken",
	[TAKE_NOTHING] = "a remover that found nothing under the lock",
	[LOCKING_CHANGE] = "a change of the locking mode during a call",
	[NO_MEMORY] = "an allocation that failed",
	[LAST_RESORT] = "a block that was pooled when the system had none",
};

static void __attribute__((noreturn)) play_all(struct shared *shared, u64 end)
{
	u64 trace;
	int i;

	for (; shared->seed < end; shared->seed++) {
		trace = play(shared->seed);
		for (i = 0; i < SIM_EVENTS; i++)
			shared->happened[i] += fake.happened[i];
		if (shared->seed % REPEAT_ONE_IN == 0 && play(shared->seed) != trace)
			fake_fail("a seed behaves differently when it is run again");
	}
	_exit(0);
}

/* False if a seed failed; shared->seed is its number. */
static bool play_until_failure(struct shared *shared, u64 end)
{
	const struct rlimit no_core = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		play_all(shared, end);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "first-seed", required_argument, NULL, 'f' },
		{ "seeds", required_argument, NULL, 'n' },
		{ 0 },
	};
	unsigned long long first = 1, nr = ALL_EVENTS_SEEDS;
	struct shared *shared;
	struct tap tap = { 0 };
	char title[40];
	int i, opt;

	version_if_asked(argc, argv);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == '?')
			return 2;
		*(opt == 'f' ? &first : &nr) = strtoull(optarg, NULL, 0);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	shared->seed = first;
	while (tap.failed < FAILURES_MAX && !play_until_failure(shared, first + nr)) {
		printf("to run it again:\n  %s --first-seed %llu --seeds 1\n", argv[0],
		       (unsigned long long)shared->seed);
		snprintf(title, sizeof(title), "seed %llu", (unsigned long long)shared->seed++);
		tap_case(&tap, false, title);
	}
	snprintf(title, sizeof(title), "%llu seeds", nr);
	tap_case(&tap, nr && !tap.failed, title);
	for (i = 0; i < SIM_EVENTS && nr >= ALL_EVENTS_SEEDS && !tap.failed; i++)
		tap_case(&tap, shared->happened[i], event_names[i]);
	return tap_end(&tap);
}
