/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check: how the C tests of every suite are declared, and how they fail. The suites that run in one
 * process (unit, heap, inject) are run by tests/engine/unit/runner.c, and their tests CHECK(). In
 * the suites that run on devices (tests/drivers/conformance, tests/heap) each test has processes of
 * its own; their tests EXPECT().
 */
#ifndef ANYBINDER_CHECK_H
#define ANYBINDER_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct test {
	const char *file;
	const char *name;
	void (*run)(void);
	const char *rule; /* the rule that it pins, as a sentence; NULL: none */
	const char *caps; /* what it needs of the device, separated by spaces; NULL: nothing */
	struct test *next;
};

/* Appends a test to the list of its program's runner. Called before main() begins. */
void test_register(struct test *test);

/*
 * One test; the body follows.
 *	TEST(name)
 *	TEST(area_rule_it_pins, "The sentence that states the rule.")
 *	TEST(area_rule_it_pins, "The sentence that states the rule.", "capabilities")
 */
#define TEST(name_, ...)                                                                          \
	static void name_(void);                                                                  \
	static void __attribute__((constructor)) register_##name_(void)                           \
	{                                                                                         \
		static struct test test = { __FILE__, #name_, name_, ##__VA_ARGS__ };             \
                                                                                                  \
		test_register(&test);                                                             \
	}                                                                                         \
	static void name_(void)

/*
 * TEST() with a @type_ that @begin_(it) prepares before the body, which has it as @type_ *@it_, and
 * @end_(it) ends afterwards, also if the body was left early.
 */
#define TEST_WITH(name_, type_, it_, begin_, end_)                                                \
	static void name_##_with(type_ *it_);                                                     \
	TEST(name_)                                                                               \
	{                                                                                         \
		type_ own;                                                                        \
                                                                                                  \
		begin_(&own);                                                                     \
		name_##_with(&own);                                                               \
		end_(&own);                                                                       \
	}                                                                                         \
	static void name_##_with(type_ *it_)

/* The running test fails, and goes on; @what was expected at @file:@line. */
void check_failed(const char *file, int line, const char *what);

/* The test fails unless @cond holds; it goes on. The value is that of the condition. */
#define CHECK(cond) ((cond) ? true : (check_failed(__FILE__, __LINE__, #cond), false))

/* The same, and leaves the function if not: REQUIRE(cond), or REQUIRE(cond, value) to return. */
#define REQUIRE(cond, ...)                                                                        \
	do {                                                                                      \
		if (!CHECK(cond))                                                                 \
			return __VA_ARGS__;                                                       \
	} while (0)

/* The suites in one process. */

/*
 * Runs every test linked in, or those whose names contain one of @words (a list that ends with
 * NULL; behind "--without": all others), each between @before and @after, and reports each as a
 * case (lib/tap.h). Returns the program's exit status.
 */
int unit_run(char **words, void (*before)(void), void (*after)(void));
/* The same, but skips all of them. */
int unit_skip(const char *reason);
/* Has the running test failed already? */
bool unit_failed(void);
/* Pseudo-random: the same numbers on every run. */
uint32_t unit_random(uint64_t *state);

/* The suites on devices. */

/*
 * Prints "file:line: message" and ends the calling process, and with it the test, as failed. Works
 * in every process of a test.
 */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const char *test_errno_name(int err);

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* cond holds. */
#define EXPECT(cond)                                          \
	do {                                                  \
		if (!(cond))                                  \
			FAIL("expected that %s", #cond);      \
	} while (0)

/* Two integers are equal; both are printed when not. */
#define EXPECT_EQ(got, want)                                                                    \
	do {                                                                                    \
		long long got_ = (long long)(got), want_ = (long long)(want);                   \
		if (got_ != want_)                                                              \
			FAIL("%s is %lld (0x%llx), expected %s = %lld (0x%llx)", #got, got_,    \
			     (unsigned long long)got_, #want, want_, (unsigned long long)want_); \
	} while (0)

/* A library call, which returns 0 or more or a negative errno, succeeded. */
#define EXPECT_OK(call)                                                                 \
	do {                                                                            \
		int ret_ = (call);                                                      \
		if (ret_ < 0)                                                           \
			FAIL("%s failed: %s (%d)", #call, test_errno_name(-ret_), ret_); \
	} while (0)

/* A library call failed with this errno. */
#define EXPECT_ERR(call, err)                                                              \
	do {                                                                               \
		int ret_ = (call);                                                         \
		if (ret_ != -(err))                                                        \
			FAIL("%s gave %d (%s), expected -%s", #call, ret_,                 \
			     ret_ < 0 ? test_errno_name(-ret_) : "success", #err);         \
	} while (0)

#endif
