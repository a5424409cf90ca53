/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unit tests beside the code: a file NAME_test.c holds TEST(...) functions, which
 * find their way into the one program by themselves.
 */
#ifndef ANYBINDER_UNIT_TEST_H
#define ANYBINDER_UNIT_TEST_H

#include <stdbool.h>
#include <stdint.h>

struct unit_test {
	const char *file;
	const char *name;
	void (*run)(void);
	struct unit_test *next;
};

void unit_register(struct unit_test *test);
/* Runs every test linked in, or those whose names contain one of @words (a list that ends with
 * NULL; behind "--without": all others), each between @before and @after, and sums up under
 * @name.  The program's exit status. */
int unit_run(const char *name, char **words, void (*before)(void), void (*after)(void));
/* The running test fails; @what was expected at @file:@line. */
void unit_fail(const char *file, int line, const char *what);
/* Has the running test failed already? */
bool unit_failed(void);
/* The same numbers on every run. */
uint32_t unit_random(uint64_t *state);

/* One test; the body follows. */
#define TEST(test_name)                                                                            \
	static void test_name(void);                                                               \
	static void __attribute__((constructor)) register_##test_name(void)                        \
	{                                                                                          \
		static struct unit_test test = { __FILE__, #test_name, test_name, 0 };             \
                                                                                                   \
		unit_register(&test);                                                              \
	}                                                                                          \
	static void test_name(void)

/* The test fails unless @cond holds; it goes on.  Its value is the condition's. */
#define CHECK(cond) ((cond) ? true : (unit_fail(__FILE__, __LINE__, #cond), false))

/* The same, and leaves the (void) function if not. */
#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!CHECK(cond))                                                                  \
			return;                                                                    \
	} while (0)

#endif
