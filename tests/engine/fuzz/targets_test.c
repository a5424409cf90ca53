// SPDX-License-Identifier: GPL-2.0
/*
 * The targets of the fuzzers without a fuzzer: played from seeds, a few of each (or FUZZ_SEEDS of
 * them), and from the kept inputs.
 */
#include "targets.h"
#include "check.h"

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

/* The bytes of a line of hexadecimal digits; false if it has none (a comment). */
static bool parse_input(const char *line, u8 *bytes, size_t *size)
{
	unsigned int byte;

	for (*size = 0; sscanf(line, "%2x", &byte) == 1; line += 2)
		bytes[(*size)++] = (u8)byte;
	return *size != 0;
}

static void play_kept(bool (*target)(struct choices *c), const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	u8 *bytes = NULL;
	size_t room = 0, size;
	u32 number = 0, played = 0;

	REQUIRE(file);
	while (getline(&line, &room, file) >= 0) {
		number++;
		bytes = realloc(bytes, room);
		if (!parse_input(line, bytes, &size))
			continue;
		struct choices c = choices_of_bytes(bytes, size);

		played++;
		if (!CHECK(target(&c)))
			printf("  with line %u of %s\n", number, path);
	}
	free(bytes);
	free(line);
	fclose(file);
	CHECK(played);
}

TEST(fuzz_of_kept_inputs)
{
	play_kept(fuzz_range, "tests/engine/fuzz/corpus/range.hex");
	play_kept(fuzz_object, "tests/engine/fuzz/corpus/object.hex");
	play_kept(fuzz_sg, "tests/engine/fuzz/corpus/sg.hex");
	play_kept(fuzz_stream, "tests/engine/fuzz/corpus/stream.hex");
}
