// SPDX-License-Identifier: GPL-2.0
/*
 * One bit per number, set while it is in use. All numbers below map->hint are in use, so
 * that allocating one number after the other does not search the full words each time;
 * freeing a number lowers the hint.
 */
#include "bitmap.h"

void bm_init(struct bm_bitmap *map)
{
	map->words = NULL;
	map->nbits = 0;
	map->used = 0;
	map->hint = 0;
}

u64 *bm_grow(struct bm_bitmap *map, u64 *words, u32 nbits)
{
	size_t have = bm_words(map->nbits);
	u64 *old = map->words;
	size_t i;

	if (nbits <= map->nbits)
		return words;
	for (i = 0; i < bm_words(nbits); i++)
		words[i] = i < have ? old[i] : 0;
	map->words = words;
	map->nbits = nbits;
	return old;
}

u32 bm_next_size(const struct bm_bitmap *map)
{
	if (!map->nbits)
		return 64;
	return map->nbits > BM_NONE / 4 ? 0 : map->nbits * 2;
}

/* The lowest free number that is @from or above; BM_NONE if there is none. */
static u32 find_free(const struct bm_bitmap *map, u32 from)
{
	size_t i;

	for (i = from / 64; i < bm_words(map->nbits); i++) {
		u64 free_bits = ~map->words[i];

		if (i == from / 64)
			free_bits &= ~0ull << (from % 64);
		if (free_bits)
			return (u32)(i * 64) + (u32)__builtin_ctzll(free_bits);
	}
	return BM_NONE;
}

u32 bm_take(struct bm_bitmap *map, u32 from)
{
	u32 start = from > map->hint ? from : map->hint;
	u32 bit = find_free(map, start);

	if (bit == BM_NONE)
		return BM_NONE;
	map->words[bit / 64] |= 1ull << (bit % 64);
	map->used++;
	/* Only a search from the hint shows that everything below @bit is in use. */
	if (start == map->hint)
		map->hint = bit + 1;
	return bit;
}

bool bm_test(const struct bm_bitmap *map, u32 bit)
{
	return bit < map->nbits && (map->words[bit / 64] >> (bit % 64) & 1);
}

bool bm_release(struct bm_bitmap *map, u32 bit)
{
	if (!bm_test(map, bit))
		return false;
	map->words[bit / 64] &= ~(1ull << (bit % 64));
	map->used--;
	if (bit < map->hint)
		map->hint = bit;
	return true;
}
