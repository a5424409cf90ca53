/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Failing: a measurement that is not complete is worthless.
 */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <err.h>
#include <stdlib.h>

/*
 * Prints a message (as printf; fail_errno adds strerror) to standard error and ends the process
 * with status 1.
 */
#define fail(...) errx(1, __VA_ARGS__)
#define fail_errno(...) err(1, __VA_ARGS__)

/* @bytes of zeroed memory, which nobody frees: the processes of a measurement are short-lived. */
static inline void *new_zeroed(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		fail("no memory");
	return memory;
}

#endif
