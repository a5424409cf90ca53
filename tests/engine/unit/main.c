// SPDX-License-Identifier: GPL-2.0
/*
 * The unit tests of the engine: all, or those whose names contain a word given as an argument
 * (after --without: all others). A test that leaves engine memory allocated has failed.
 */
#include "check.h"
#include "fields.h"
#include "host.h"
#include "tests/version.h"
#include "world.h"

#include <stdlib.h>

static void begin(void)
{
	sim_arm(SIM_ANY, 0);
}

static void end(void)
{
	CHECK(!sim_stats.allocs);
	CHECK(!sim_stats.files);
	CHECK(!sim_stats.secctxs);
	sim_stats = (struct sim_stats){ 0 };
}

int main(int argc, char **argv)
{
	version_if_asked(argc, argv);
	sim_verbose = getenv("UNIT_VERBOSE") != NULL;
	world_hands_over = getenv("UNIT_HAND_OVER") != NULL;
	if (getenv("UNIT_LOSE_FIELDS"))
		return unit_fields(begin, end);
	return unit_run(argv + 1, begin, end);
}
