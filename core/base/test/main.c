// SPDX-License-Identifier: GPL-2.0
/* Runs the unit tests of core/base and reports how many held. */
#include "check.h"

int main(void)
{
	const struct base_test *const suites[] = {
		list_tests, rbtree_tests, bitmap_tests, checked_tests,
	};
	int passed = 0;
	int failed = 0;

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		for (const struct base_test *test = suites[i]; test->name; test++) {
			bool good = test->run();

			if (!good)
				printf("FAILED %s\n", test->name);
			passed += good;
			failed += !good;
		}
	}
	printf("base: %d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
