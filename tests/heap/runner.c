// SPDX-License-Identifier: GPL-2.0
#include "runner.h"

#include "unit/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct unit_test *tests;
static struct unit_test **last = &tests;
static const struct unit_test *running;
static const char *skipped_why;
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

uint32_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

void runner_skip(const char *why)
{
	skipped_why = why;
}

int runner_run(const char *name, const char *word, void (*before)(void), void (*after)(void))
{
	int passed = 0, failed = 0, skipped = 0;

	for (running = tests; running; running = running->next) {
		if (word && !strstr(running->name, word))
			continue;
		complaints = 0;
		skipped_why = NULL;
		if (before)
			before();
		running->run();
		if (after)
			after();
		failed += !!complaints;
		passed += !complaints && !skipped_why;
		skipped += !complaints && skipped_why;
		if (complaints)
			printf("FAILED %s (%s)\n", running->name, running->file);
		else if (skipped_why)
			printf("skipped %s: %s\n", running->name, skipped_why);
		fflush(stdout);
	}
	printf("%s: %d passed, %d failed, %d skipped\n", name, passed, failed, skipped);
	fflush(stdout);
	return failed || !(passed + skipped);
}
