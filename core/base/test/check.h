/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few lines that the unit tests of core/base need: a check that names the place
 * where it failed, and random numbers that are the same on every run.
 */
#ifndef ANYBINDER_BASE_TEST_CHECK_H
#define ANYBINDER_BASE_TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "base_types.h"

/* Ends the running test as failed unless @cond holds. */
#define CHECK(cond) do { \
	if (!(cond)) { \
		printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
		return false; \
	} \
} while (0)

struct base_test {
	const char *name;
	bool (*run)(void);
};

extern const struct base_test list_tests[], rbtree_tests[], bitmap_tests[], checked_tests[];

/* xorshift: good enough to pick operations, the same everywhere. */
static inline u32 check_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (u32)(*state >> 16);
}

#endif
