/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is fuzzed. Each target plays one run, decided by @c. It returns false and prints a line on
 * standard error if a result is wrong. The unit tests play them from seeds, the fuzzers of
 * rules.mk from bytes.
 */
#ifndef ANYBINDER_FUZZ_TARGETS_H
#define ANYBINDER_FUZZ_TARGETS_H

#include "choices.h"

#include <stdio.h>

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
