/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bm: a set of numbers in use, which allocates the lowest free one.
 *
 * The memory comes from the caller, because nothing may be allocated under the spinlock
 * that guards the set: when bm_take() finds the set full, the caller drops its lock,
 * allocates bm_words(nbits) words for a larger set, takes the lock again and calls
 * bm_grow(), which returns the old words, to be freed after unlock. None of these
 * functions locks, allocates or sleeps; the caller serialises them.
 */
#ifndef ANYBINDER_BASE_BITMAP_H
#define ANYBINDER_BASE_BITMAP_H

#include "base_types.h"

struct bm_bitmap {
	u64 *words;
	u32 nbits;	/* a multiple of 64 */
	u32 used;	/* bits set */
	u32 hint;	/* no bit below this one is clear */
};

#define BM_NONE 0xffffffffu

/* Words needed for @nbits bits. */
static inline size_t bm_words(u32 nbits)
{
	return ((size_t)nbits + 63) / 64;
}

/* Initialises a set of size 0; bm_grow() gives it its first words. */
void bm_init(struct bm_bitmap *map);

/*
 * Grows the set to @nbits numbers (a multiple of 64), stored in @words, which need not be
 * cleared. Returns the words to be freed: the old ones (NULL the first time), or @words if
 * the set is already that large because another thread grew it meanwhile.
 */
u64 *bm_grow(struct bm_bitmap *map, u64 *words, u32 nbits);

/* The size to grow a full set to: 64 at first, then twice its size; 0 if it cannot grow. */
u32 bm_next_size(const struct bm_bitmap *map);

/* Allocates the lowest free number that is @from or above; BM_NONE if there is none. */
u32 bm_take(struct bm_bitmap *map, u32 from);

/* Frees @bit; false if it was not in use. */
bool bm_release(struct bm_bitmap *map, u32 bit);

/* Returns whether @bit is in use; numbers outside the set are not. */
bool bm_test(const struct bm_bitmap *map, u32 bit);

#endif
