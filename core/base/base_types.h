/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types that core/base stands on: u8 u16 u32 u64 s32 s64 bool size_t NULL.
 * Each home brings them in its own host_types.h, found by the include path, so
 * that the same base compiles in a kernel module, a daemon and a test.
 */
#ifndef ANYBINDER_BASE_TYPES_H
#define ANYBINDER_BASE_TYPES_H

#include <host_types.h>

/* The structure of @type whose @member is at @ptr. */
#define base_container_of(ptr, type, member) \
	((type *)((char *)(ptr) - __builtin_offsetof(type, member)))

#endif
