// SPDX-License-Identifier: GPL-2.0
#include "runner.h"

#include "unit/test.h"

#include <stddef.h>
#include <stdio.h>

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

uint32_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

int runner_run(const char *name, void (*before)(void), void (*after)(void))
{
	int passed = 0, failed = 0;

	for (running = tests; running; running = running->next) {
		complaints = 0;
		before();
		running->run();
		after();
		failed += !!complaints;
		passed += !complaints;
		if (complaints)
			printf("FAILED %s (%s)\n", running->name, running->file);
	}
	printf("%s: %d passed, %d failed, 0 skipped\n", name, passed, failed);
	return failed || !passed;
}
