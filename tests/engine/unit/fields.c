// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the unit tests would find that a field of the state is lost, of those that the simulator
 * does not find: while the restoring side takes it as zero, or empty, the tests that are named for
 * it must fail. As in the simulator, the comparison of what is written before and afterwards does
 * not count.
 */
#include "fields.h"

#include "tests/engine/state/unmissed.h"
#include "check.h"
#include "tests/lib/tap.h"
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

int unit_fields(void (*before)(void), void (*after)(void))
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
