// SPDX-License-Identifier: GPL-2.0
/* The bitmap against an array of bools, while it grows. */
#include <stdlib.h>

#include "base/bitmap.h"
#include "check.h"

#define NR_STEPS 60000
#define MAX_BITS 1024

static bool grow(struct bm_bitmap *map)
{
	u32 nbits = bm_next_size(map);
	u64 *words = malloc(bm_words(nbits) * sizeof(*words));

	for (size_t i = 0; i < bm_words(nbits); i++)
		words[i] = ~0ull;	/* need not be clear */
	free(bm_grow(map, words, nbits));
	return map->nbits == nbits;
}

static u32 model_lowest(const bool *taken, u32 nbits, u32 from)
{
	for (u32 bit = from; bit < nbits; bit++) {
		if (!taken[bit])
			return bit;
	}
	return BM_NONE;
}

static bool random_step(struct bm_bitmap *map, bool *taken, u64 *seed, bool growing)
{
	u32 bit = unit_random(seed) % (map->nbits + 10);
	u32 expect;

	switch (unit_random(seed) % (growing ? 4 : 8)) {
	case 0:
	case 1:
		bit = unit_random(seed) % 3 ? unit_random(seed) % 2 : bit;
		expect = model_lowest(taken, map->nbits, bit);
		REQUIRE(bm_take(map, bit) == expect, false);
		if (expect != BM_NONE)
			taken[expect] = true;
		else if (bit < 2 && map->nbits < MAX_BITS)
			REQUIRE(grow(map), false);
		break;
	default:
		REQUIRE(bm_release(map, bit) == (bit < map->nbits && taken[bit]), false);
		if (bit < map->nbits)
			taken[bit] = false;
		break;
	}
	return true;
}

TEST(bitmap_random_steps)
{
	struct bm_bitmap map;
	bool taken[MAX_BITS + 16] = { false };
	u64 seed = 3;

	bm_init(&map);
	REQUIRE(bm_take(&map, 0) == BM_NONE);
	REQUIRE(grow(&map));
	for (int step = 0; step < NR_STEPS; step++) {
		u32 used = 0;

		REQUIRE(random_step(&map, taken, &seed, step / 5000 % 2 == 0));
		for (u32 bit = 0; bit < map.nbits + 10; bit++) {
			REQUIRE(bm_test(&map, bit) == (bit < map.nbits && taken[bit]));
			used += taken[bit];
		}
		REQUIRE(map.used == used);
	}
	REQUIRE(map.nbits == MAX_BITS);
	free(map.words);
}

TEST(bitmap_allocates_the_lowest_first)
{
	struct bm_bitmap map;

	bm_init(&map);
	REQUIRE(grow(&map) && grow(&map));
	for (u32 bit = 0; bit < map.nbits; bit++)
		REQUIRE(bm_take(&map, 0) == bit);
	REQUIRE(bm_take(&map, 0) == BM_NONE);
	REQUIRE(bm_release(&map, 100) && bm_release(&map, 5) && bm_release(&map, 70));
	REQUIRE(!bm_release(&map, 5));
	REQUIRE(bm_take(&map, 6) == 70);
	REQUIRE(bm_take(&map, 0) == 5);
	REQUIRE(bm_take(&map, 0) == 100);
	REQUIRE(bm_take(&map, 0) == BM_NONE);
	free(map.words);
}

TEST(bitmap_grown_by_another_thread)
{
	struct bm_bitmap map;
	u64 first[1], second[1], third[2];

	bm_init(&map);
	REQUIRE(bm_grow(&map, first, 64) == NULL);
	REQUIRE(bm_take(&map, 0) == 0);
	/* Another thread was faster: the new words are returned, to be freed. */
	REQUIRE(bm_grow(&map, second, 64) == second);
	REQUIRE(bm_grow(&map, third, 128) == first);
	REQUIRE(bm_test(&map, 0) && !bm_test(&map, 64) && map.used == 1);
	map.nbits = 0x80000000u;
	REQUIRE(bm_next_size(&map) == 0);
}
