/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ck: arithmetic on numbers that a client chose. Each function stores the result in *@out
 * and returns whether it fits the type; if not, *@out is the wrapped value, not to be used.
 */
#ifndef ANYBINDER_BASE_CHECKED_H
#define ANYBINDER_BASE_CHECKED_H

#include "base_types.h"

#define CK_DEFINE(type) \
static inline bool __attribute__((warn_unused_result)) \
ck_add_##type(type a, type b, type *out) \
{ \
	return !__builtin_add_overflow(a, b, out); \
} \
static inline bool __attribute__((warn_unused_result)) \
ck_sub_##type(type a, type b, type *out) \
{ \
	return !__builtin_sub_overflow(a, b, out); \
} \
static inline bool __attribute__((warn_unused_result)) \
ck_mul_##type(type a, type b, type *out) \
{ \
	return !__builtin_mul_overflow(a, b, out); \
}

/* ck_add_u64, ck_sub_u64, ck_mul_u64; the same for u32, s32, s64, size_t */
CK_DEFINE(u32)
CK_DEFINE(u64)
CK_DEFINE(s32)
CK_DEFINE(s64)
CK_DEFINE(size_t)

#undef CK_DEFINE

/*
 * Returns whether [@offset, @offset + @size) lies within [0, @limit); an empty range may
 * start at @limit.
 */
static inline bool ck_within(u64 offset, u64 size, u64 limit)
{
	return offset <= limit && size <= limit - offset;
}

#endif
