/* SPDX-License-Identifier: GPL-2.0 */
/* runner: runs one test in its own processes and cleans up after it. */
#ifndef CONFORMANCE_RUNNER_H
#define CONFORMANCE_RUNNER_H

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

#endif
