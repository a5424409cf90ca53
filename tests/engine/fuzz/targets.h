/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is fuzzed. Each target plays one run, decided by @c. It returns false and prints a line on
 * standard error if a result is wrong. The unit tests play them from seeds, the fuzzers of
 * rules.mk from the bytes of an input, so that a change of one byte changes one decision.
 */
#ifndef ANYBINDER_FUZZ_TARGETS_H
#define ANYBINDER_FUZZ_TARGETS_H

#include "host.h"

#include <stdio.h>

/* The decisions of a run (choices.c): from bytes; or from a seed, without end. */
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

/* The range allocator against a map of bytes that is searched from the start. */
bool fuzz_range(struct choices *c);
/* Where objects may be in data, by arithmetic that cannot overflow. */
bool fuzz_object(struct choices *c);
/* The scatter-gather plan against a tree of buffers that records every patched byte. */
bool fuzz_sg(struct choices *c);
/*
 * Three processes write random commands to the whole engine, which must not crash and must be
 * empty when they have ended.
 */
bool fuzz_stream(struct choices *c);

/* For the targets: prints what is wrong and returns false. */
static inline bool fuzz_wrong(const char *what)
{
	fprintf(stderr, "fuzz: not so: %s\n", what);
	return false;
}

#endif
