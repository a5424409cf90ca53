// SPDX-License-Identifier: GPL-2.0
/*
 * The list of tests: TEST() registers each before main() begins. A program provides what is done
 * before and after each of them.
 */
#include "check.h"
#include "tests/lib/tap.h"

#include <stdio.h>
#include <string.h>

static struct test *tests;
static struct test **last = &tests;
static const struct test *running;
static int failures;

void test_register(struct test *test)
{
	*last = test;
	last = &test->next;
}

void check_failed(const char *file, int line, const char *what)
{
	if (failures++ < 5)
		printf("%s:%d: %s: not so: %s\n", file, line, running->name, what);
}

bool unit_failed(void)
{
	return failures != 0;
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

int unit_run(char **words, void (*before)(void), void (*after)(void))
{
	struct tap tap = { 0 };

	for (running = tests; running; running = running->next) {
		if (!is_wanted(running->name, words))
			continue;
		failures = 0;
		before();
		running->run();
		after();
		tap_case(&tap, !failures, running->name);
	}
	return tap_end(&tap);
}

int unit_skip(const char *reason)
{
	struct tap tap = { 0 };

	for (const struct test *test = tests; test; test = test->next)
		tap_skip(&tap, test->name, reason);
	tap_end(&tap);
	return 0;
}

/* Xorshift of 64 bits. */
uint32_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}
