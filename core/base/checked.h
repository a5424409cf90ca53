/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ck: arithmetic on numbers that a client chose. Each function stores the result
 * and returns true if it fits, or returns false if it does not; then *@out holds
 * the wrapped value, which nobody may use.
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
 * Rounds @value up to a multiple of @unit, a power of two.
 */
static inline bool __attribute__((warn_unused_result))
ck_align_u64(u64 value, u64 unit, u64 *out)
{
	if (!ck_add_u64(value, unit - 1, out))
		return false;
	*out &= ~(unit - 1);
	return true;
}

/* Does [@offset, @offset + @size) lie within [0, @limit)? Empty ranges may sit at the end. */
static inline bool ck_within(u64 offset, u64 size, u64 limit)
{
	return offset <= limit && size <= limit - offset;
}

#endif
