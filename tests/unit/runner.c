// SPDX-License-Identifier: GPL-2.0
/*
 * The list of tests makes itself: TEST() registers each before main() begins. A program brings
 * what has to be done before and after each of them.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

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

int unit_run(const char *name, char **words, void (*before)(void), void (*after)(void))
{
	int passed = 0, failed = 0;

	for (running = tests; running; running = running->next) {
		if (!is_wanted(running->name, words))
			continue;
		complaints = 0;
		before();
		running->run();
		after();
		passed += !complaints;
		failed += !!complaints;
		if (complaints)
			printf("FAILED %s (%s)\n", running->name, running->file);
	}
	printf("%s: %d passed, %d failed, 0 skipped\n", name, passed, failed);
	return failed || !passed;
}
