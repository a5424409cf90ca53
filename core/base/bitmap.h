/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bm: the set of numbers in use, which hands out the lowest free one.
 *
 * The words come from the caller, because nothing may be allocated under the
 * spinlock that guards the set: when bm_take() finds the set full, the caller
 * drops its lock, allocates bm_words(nbits) words for a bigger size, takes the
 * lock again, and calls bm_grow(), which hands back the old words to be freed after
 * unlock. None of these functions locks, allocates or sleeps.
 */
#ifndef ANYBINDER_BASE_BITMAP_H
#define ANYBINDER_BASE_BITMAP_H

#include "base_types.h"

struct bm_bitmap {
	u64 *words;
	u32 nbits;	/* a multiple of 64 */
	u32 used;	/* bits set */
	u32 hint;	/* no bit below this one is free */
};

#define BM_NONE 0xffffffffu

/* Words needed for @nbits bits. */
static inline size_t bm_words(u32 nbits)
{
	return ((size_t)nbits + 63) / 64;
}

/* A set with no room at all; bm_grow() gives it its first words. */
void bm_init(struct bm_bitmap *map);

/*
 * Gives the set @words, room for @nbits (a multiple of 64); they need not be clear.
 * Returns the words to free: the old ones (NULL the first time), or @words itself
 * if the set is already as large (another caller grew it meanwhile).
 */
u64 *bm_grow(struct bm_bitmap *map, u64 *words, u32 nbits);

/* The size to grow a full set to: twice as many bits, 64 at first; 0 if it cannot grow. */
u32 bm_next_size(const struct bm_bitmap *map);

/* Marks the lowest free number that is >= @from as used and returns it; BM_NONE if full. */
u32 bm_take(struct bm_bitmap *map, u32 from);

/* Marks @bit as used; false if it already is or lies outside the set. */
bool bm_claim(struct bm_bitmap *map, u32 bit);

/* Marks @bit as free; false if it was not in use. */
bool bm_release(struct bm_bitmap *map, u32 bit);

/* Is @bit in use? Numbers outside the set are not. */
bool bm_test(const struct bm_bitmap *map, u32 bit);

#endif
