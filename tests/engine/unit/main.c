// SPDX-License-Identifier: GPL-2.0
/*
 * The unit tests of the engine: all, or those whose names contain a word given as an argument
 * (after --without: all others). The title of the summary is that of `--name NAME`, if those come
 * first. A test that leaves engine memory allocated has failed.
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
	bool named = argc > 2 && !strcmp(argv[1], "--name");

	version_if_asked(argc, argv);
	sim_verbose = getenv("UNIT_VERBOSE") != NULL;
	world_hands_over = getenv("UNIT_HAND_OVER") != NULL;
	argv += named ? 3 : 1;
	if (getenv("UNIT_LOSE_FIELDS"))
		return unit_fields(named ? argv[-1] : "fields", begin, end);
	return unit_run(named ? argv[-1] : "unit", argv, begin, end);
}
