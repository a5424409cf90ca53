// SPDX-License-Identifier: GPL-2.0
/* heap_test [WORD]: runs the unit tests. A test that leaks blocks fails. */
#include "pool_host.h"

#include "check.h"
#include "tests/version.h"

#include <stdio.h>
#include <string.h>

#define PLENTY_PAGES (1L << 30)

struct fake_system fake;

static void fake_begin(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.lockless = true;
	fake.alloc_budget = PLENTY_PAGES;
	fake.killed_in = -1;
}

static void fake_end(void)
{
	CHECK(fake.blocks_out == 0);
	CHECK(fake.pages_pooled == 0);
}

void fake_fail(const char *what)
{
	printf("heap_test: %s\n", what);
	abort();
}

int main(int argc, char **argv)
{
	version_if_asked(argc, argv);
	return unit_run(argv + 1, fake_begin, fake_end);
}
