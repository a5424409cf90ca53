// SPDX-License-Identifier: GPL-2.0
/*
 * The unit tests of the engine: all, or those whose names contain a word given as an argument
 * (after --without: all others). A test that leaves engine memory allocated has failed.
 */
#include "check.h"
#include "host.h"
#include "tests/engine/state/unmissed.h"
#include "tests/lib/tap.h"
#include "tests/version.h"
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Whether the unit tests would find that a field of the state is lost, of those that the simulator
 * does not find: while the restoring side takes it as zero, or empty, the tests that are named for
 * it must fail. As in the simulator, the comparison of what is written before and afterwards does
 * not count.
 */

#define TIME_S 100 /* a test that hangs has found it */

/* The tests whose names begin with @word; all are handed over, some do it themselves. */
static int run(char *word, void (*before)(void), void (*after)(void))
{
	char *words[] = { word, NULL };

	world_hands_over = strncmp(word, "failure", strlen("failure")) != 0;
	return unit_run(words, before, after);
}

/* Whether a test fails without @field; NULL: nothing is lost. */
static bool is_found(const struct state_field *field, char *word, void (*before)(void),
		     void (*after)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		alarm(TIME_S);
		binder_state_lost = field;
		exit(run(word, before, after));
	}
	waitpid(pid, &status, 0);
	return status != 0;
}

/* The exit status of the program. */
static int lose_fields(void (*before)(void), void (*after)(void))
{
	const struct state_field *field;
	struct tap tap = { 0 };
	u32 nr, i;

	fflush(stdout);
	for (i = 0; i < NR_UNMISSED; i++) {
		char *tests = unmissed[i].tests;

		/* Nothing is lost, so nothing may be found. */
		if (tests && is_found(NULL, tests, before, after)) {
			printf("it fails without a loss\n");
			tap_case(&tap, false, tests);
		}
	}
	for (nr = 0; (field = field_at(nr)); nr++) {
		const struct unmissed *entry = unmissed_of(field->name);

		if (!entry || !entry->tests)
			continue;
		if (!tap_case(&tap, is_found(field, entry->tests, before, after), field->name))
			printf("# %s is lost: none of %s* fails\n", field->name, entry->tests);
	}
	return tap_end(&tap);
}

/* ---- all tests ---- */

static void begin(void)
{
	sim_arm(SIM_ANY, 0);
}

static void end(void)
{
	CHECK(!sim_stats.allocs);
	CHECK(!sim_stats.files);
	CHECK(!sim_stats.secctxs);
	sim_stats = (struct sim_stats){ 0 };
}

int main(int argc, char **argv)
{
	version_if_asked(argc, argv);
	sim_verbose = getenv("UNIT_VERBOSE") != NULL;
	world_hands_over = getenv("UNIT_HAND_OVER") != NULL;
	if (getenv("UNIT_LOSE_FIELDS"))
		return lose_fields(begin, end);
	return unit_run(argv + 1, begin, end);
}
