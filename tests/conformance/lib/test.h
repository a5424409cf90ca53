/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test: how a test is declared and how it fails. A test is a function that returns when its rule
 * holds; the first expectation that does not hold prints what was got and ends the test.
 */
#ifndef CONFORMANCE_TEST_H
#define CONFORMANCE_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conformance_test {
	const char *name; /* area_rule_it_pins */
	const char *rule; /* the rule, as a sentence */
	const char *caps; /* capabilities that it needs, separated by spaces (harness/caps.c) */
	const char *file;
	void (*run)(void);
};

/*
 * TEST(area_rule_it_pins, "The sentence that states the rule") { body }
 * TEST(area_rule_it_pins, "The sentence that states the rule", "capabilities") { body }
 * Registration is a pointer in a section of its own: no list to keep, and it works in a static
 * binary.
 */
#define TEST(name_, rule_, ...)                                                                 \
	static void name_(void);                                                                \
	static const struct conformance_test name_##_entry = { #name_, rule_, "" __VA_ARGS__,   \
							       __FILE__, name_ };               \
	static const struct conformance_test *const name_##_at                                  \
		__attribute__((used, section("conformance_tests"))) = &name_##_entry;           \
	static void name_(void)

/* Print "file:line: message" and end the test as failed. Works in the director and in any actor. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* End the test as skipped, for what only the machine at hand can tell (such as not being root). */
_Noreturn void test_skip(const char *reason);

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

const char *test_errno_name(int err);

/* Path of the device file this test has for itself, and of another device of the same back end. */
const char *test_device(void);
const char *test_other_device(void);
/* Directory that holds the devices. */
const char *test_device_dir(void);

/* Milliseconds on the monotonic clock; sleep so many of them. */
int64_t now_ms(void);
void sleep_ms(int ms);
/* Long enough for the driver to clean up behind a death, which it does in its own time, ms. */
#define SETTLE_MS 150

/*
 * Memory seen by every process of the test at the same address; zeroed, never freed. 16-byte
 * aligned.
 */
void *shared_alloc(size_t size);
/* A copy of size bytes in such memory. */
void *shared_copy(const void *from, size_t size);

/*
 * For the harness: prepare the shared memory and remember the devices, in the process that is to
 * run the test.
 */
void test_begin(const char *dir, const char *device, const char *other_device);
/* Exit statuses of a test process. */
enum { TEST_PASSED = 0, TEST_FAILED = 1, TEST_SKIPPED = 77 };

#endif
