/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tap: what a test program prints for the one runner (tests/lib/cases.py). One line for each case,
 * and the plan, which tells a crash from a short run:
 *
 *	ok 1 - name
 *	not ok 2 - name
 *	ok 3 - name # SKIP reason
 *	1..3
 *
 * What is printed before the line of a case belongs to it. A program ends with tap_end().
 */
#ifndef ANYBINDER_TAP_H
#define ANYBINDER_TAP_H

#include <stdbool.h>
#include <stdio.h>

struct tap {
	int cases;
	int failed;
	int skipped;
};

/* One case has ended. Returns @ok. */
static inline bool tap_case(struct tap *tap, bool ok, const char *name)
{
	tap->failed += !ok;
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tap->cases, name);
	fflush(stdout);
	return ok;
}

static inline void tap_skip(struct tap *tap, const char *name, const char *reason)
{
	tap->skipped++;
	printf("ok %d - %s # SKIP %s\n", ++tap->cases, name, reason);
	fflush(stdout);
}

/* The plan; returns the exit status of the program: a run without a case has failed. */
static inline int tap_end(const struct tap *tap)
{
	printf("1..%d\n", tap->cases);
	fflush(stdout);
	return tap->failed || !tap->cases;
}

#endif
