// SPDX-License-Identifier: GPL-2.0
/*
 * The targets of the fuzzers without a fuzzer: played from seeds, a few of each
 * (FUZZ_SEEDS says how many others), and from the inputs that are kept.
 */
#include "targets.h"
#include "unit/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static u64 nr_seeds(u64 usual)
{
	const char *more = getenv("FUZZ_SEEDS");

	return more ? strtoull(more, NULL, 0) : usual;
}

/* @fail: every 40th to 139th host call that may fail does. */
static void play(bool (*target)(struct choices *c), u64 usual, bool fail)
{
	u64 nr = nr_seeds(usual), seed;

	for (seed = 1; seed <= nr && !unit_failed(); seed++) {
		struct choices c = choices_of_seed(seed * 0x9e3779b97f4a7c15 + fail);

		sim_fail_every(fail ? 40 + seed % 100 : 0);
		if (!CHECK(target(&c)))
			printf("  with seed %u\n", (u32)seed);
		sim_fail_every(0);
	}
}

TEST(fuzz_of_ranges)
{
	play(fuzz_range, 1, false);
}

TEST(fuzz_of_objects)
{
	play(fuzz_object, 2000, false);
}

TEST(fuzz_of_scatter_gather)
{
	play(fuzz_sg, 2000, false);
}

TEST(fuzz_of_commands)
{
	play(fuzz_stream, 60, false);
}

TEST(fuzz_of_commands_while_the_host_fails)
{
	play(fuzz_stream, 60, true);
}

static bool play_file(bool (*target)(struct choices *c), const char *dir, const char *name)
{
	static u8 bytes[65536];
	char path[512];
	struct choices c;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "rb");
	if (!file)
		return false;
	c = choices_of_bytes(bytes, fread(bytes, 1, sizeof(bytes), file));
	fclose(file);
	return target(&c);
}

static void play_kept(bool (*target)(struct choices *c), const char *dir)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);
	u32 nr = 0;

	REQUIRE(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		if (!CHECK(play_file(target, dir, entry->d_name)))
			printf("  with %s/%s\n", dir, entry->d_name);
	}
	closedir(d);
	CHECK(nr);
}

TEST(fuzz_of_kept_inputs)
{
	play_kept(fuzz_range, "tests/fuzz/corpus/range");
	play_kept(fuzz_object, "tests/fuzz/corpus/object");
	play_kept(fuzz_sg, "tests/fuzz/corpus/sg");
	play_kept(fuzz_stream, "tests/fuzz/corpus/stream");
}
