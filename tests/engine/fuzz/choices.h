/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decisions of a fuzzed run: from the bytes of a fuzzer's input, so that a change of one byte
 * changes one decision; or from a seed, without end.
 */
#ifndef ANYBINDER_FUZZ_CHOICES_H
#define ANYBINDER_FUZZ_CHOICES_H

#include "host.h"

struct choices {
	const u8 *bytes; /* NULL: from the seed */
	size_t left;
	u64 seed;
};

static inline struct choices choices_of_bytes(const u8 *bytes, size_t size)
{
	return (struct choices){ .bytes = bytes, .left = size };
}

/* @seed: not 0. */
static inline struct choices choices_of_seed(u64 seed)
{
	return (struct choices){ .seed = seed };
}

/* All bytes are used; all further choices are 0. */
static inline bool choices_over(const struct choices *c)
{
	return c->bytes && !c->left;
}

/* A number below @sides (1 .. 65536). */
u32 choose(struct choices *c, u32 sides);
/* Any number. */
u64 choose_u64(struct choices *c);

#endif
