/* SPDX-License-Identifier: GPL-2.0 */
/*
 * harness: runs one test in its own processes and cleans up after it (runner.c); knows the
 * capabilities that a back end may lack, and those that it was declared to lack (caps.c).
 */
#ifndef CONFORMANCE_HARNESS_H
#define CONFORMANCE_HARNESS_H

#include "../lib/test.h"

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED };

struct result {
	enum outcome outcome;
	int64_t elapsed_ms;
	char output[8192]; /* what the test printed; for a skipped one the reason */
};

/* Call once, before the first test: makes orphans of tests children of this process. */
void runner_init(void);
/* Run a test on DIR/DEVICE; after timeout_ms it is killed and has failed. */
void runner_run(const struct test *test, const char *dir, const char *device,
		const char *other_device, int timeout_ms, struct result *result);

/*
 * Note that the back end lacks something: "NAME=reason". False when there is no such capability
 * or no reason.
 */
bool caps_declare_missing(const char *declaration);
/*
 * Note that it has something after all, or that the machine was prepared for it. False when there
 * is no such capability.
 */
bool caps_declare_present(const char *name);
/* Whether a test with these needs is for a machine that was prepared, which this one was not. */
bool caps_unprepared(const char *needs);
/* The reason why a test with these needs cannot run, NULL when it can. */
const char *caps_missing(const char *needs);
/* The first word of needs that is no capability; NULL if all are. */
const char *caps_unknown(const char *needs);
/* Print the list with what each means. */

#endif
