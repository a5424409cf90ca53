// SPDX-License-Identifier: GPL-2.0
/*
 * Runs every TEST() linked in, or those whose names contain a word given as an
 * argument (behind --without: all others), and sums up (as `--name NAME`, if those
 * come first; as `--global NAME`, with all calls in the regime of that name).  A test that
 * leaves engine memory behind has failed.
 */
#include "test.h"
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

static struct unit_test *tests;
static struct unit_test **last = &tests;
static const struct unit_test *running;
static int complaints;

void unit_register(struct unit_test *test)
{
	*last = test;
	last = &test->next;
}

void unit_fail(const char *file, int line, const char *what)
{
	if (complaints++ < 5)
		printf("%s:%d: %s: not so: %s\n", file, line, running->name, what);
}

bool unit_failed(void)
{
	return complaints != 0;
}

static void check_nothing_left(void)
{
	if (sim_stats.allocs)
		unit_fail(running->file, 0, "all engine memory was freed");
	if (sim_stats.files)
		unit_fail(running->file, 0, "all files were put");
	if (sim_stats.secctxs)
		unit_fail(running->file, 0, "all security contexts were put");
	sim_stats = (struct sim_stats){ 0 };
}

static bool is_wanted(const char *name, char **words)
{
	bool without = *words && !strcmp(*words, "--without");

	if (!*words)
		return true;
	words += without;
	while (*words && !strstr(name, *words))
		words++;
	return !*words == without;
}

int main(int argc, char **argv)
{
	bool global = argc > 2 && !strcmp(argv[1], "--global");
	bool named = global || (argc > 2 && !strcmp(argv[1], "--name"));
	char **words = argv + (named ? 3 : 1);
	int passed = 0;
	int failed = 0;

	sim_verbose = getenv("UNIT_VERBOSE") != NULL;
	sim_regime_global = global;
	for (running = tests; running; running = running->next) {
		if (!is_wanted(running->name, words))
			continue;
		complaints = 0;
		sim_arm(SIM_ANY, 0);
		running->run();
		check_nothing_left();
		passed += !complaints;
		failed += !!complaints;
		if (complaints)
			printf("FAILED %s (%s)\n", running->name, running->file);
	}
	printf("%s: %d passed, %d failed\n", named ? argv[2] : "unit", passed, failed);
	return failed != 0;
}
