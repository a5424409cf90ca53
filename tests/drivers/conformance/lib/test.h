/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test: what the runner provides to a test on a device. A test is a function that returns when its
 * rule holds; the first failed expectation prints the actual value and ends the test.
 */
#ifndef CONFORMANCE_TEST_H
#define CONFORMANCE_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

/*
 * End the test as skipped, for conditions that only the machine decides (such as not being root).
 */
_Noreturn void test_skip(const char *reason);

/* Path of the device file of this test, and of another device of the same back end. */
const char *test_device(void);
const char *test_other_device(void);
/* Directory that holds the devices. */
/* Bytes of a page of this kernel. */
static inline size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

const char *test_device_dir(void);

/* Milliseconds on the monotonic clock; sleep so many of them. */
int64_t now_ms(void);
void sleep_ms(int ms);
/* Long enough for the driver to clean up after a death, which it does asynchronously, ms. */
#define CLEANUP_MS process_cleanup_ms
extern const int process_cleanup_ms;

/*
 * Memory that every process of the test has at the same address; zeroed, never freed. 16-byte
 * aligned.
 */
void *shared_alloc(size_t size);
/* A copy of size bytes in such memory. */
void *shared_copy(const void *from, size_t size);

/*
 * The name of a BR_ or BC_ command; "0x..." for an unknown one (valid until the eighth call after
 * this one).
 */
const char *command_name(uint32_t cmd);

/* Reads a file as text, at most size - 1 bytes of it. 0 or -errno; then the text is empty. */
int test_read_text(const char *path, char *text, size_t size);

/*
 * For the harness: prepare the shared memory and remember the devices, in the process that is to
 * run the test.
 */
void test_begin(const char *dir, const char *device, const char *other_device);
/* Exit statuses of a test process. */
enum { TEST_PASSED = 0, TEST_FAILED = 1, TEST_SKIPPED = 77 };

#endif
