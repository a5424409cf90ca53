// SPDX-License-Identifier: GPL-2.0
/* heap_test NAME [WORD]: the unit tests, summed up under that name; one that leaves blocks behind
 * has failed. */
#include "pool_host.h"

#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#define PLENTY_PAGES (1L << 30)

struct home home;

static void begin(void)
{
	memset(&home, 0, sizeof(home));
	home.lockless = true;
	home.alloc_budget = PLENTY_PAGES;
	home.killed_in = -1;
}

static void end(void)
{
	CHECK(home.blocks_out == 0);
	CHECK(home.pages_resting == 0);
}

void home_broken(const char *what)
{
	printf("the pools are broken: %s\n", what);
	abort();
}

int main(int argc, char **argv)
{
	return unit_run(argc > 1 ? argv[1] : "heap", argv + (argc > 1 ? 2 : 1), begin, end);
}
