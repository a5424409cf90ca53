/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Giving up: a measurement is either whole or worthless.
 */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <err.h>

/* Says why (as printf; fail_errno adds strerror) on stderr and ends the process with status 1. */
#define fail(...) errx(1, __VA_ARGS__)
#define fail_errno(...) err(1, __VA_ARGS__)

#endif
