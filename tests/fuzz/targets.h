/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is fuzzed.  Each target plays one run, decided by @c, and returns false (and
 * a line on standard error) if something came out as it must not.  The unit tests
 * play them from seeds, the fuzzers of rules.mk from bytes.
 */
#ifndef ANYBINDER_FUZZ_TARGETS_H
#define ANYBINDER_FUZZ_TARGETS_H

#include "choices.h"

/* The range allocator against a map of bytes that is searched from the front. */
bool fuzz_range(struct choices *c);
/* Which objects may stand where in data, by arithmetic that cannot overflow. */
bool fuzz_object(struct choices *c);
/* The scatter-gather plan against a tree of buffers in which every patched byte
 * is remembered. */
bool fuzz_sg(struct choices *c);
/* Three processes say anything to the whole engine, which must stay in one piece
 * and be empty when they are gone. */
bool fuzz_stream(struct choices *c);

/* For the targets: says what is wrong; false. */
bool fuzz_wrong(const char *what);

#endif
