/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What core/base uses of a host: u8 u16 u32 u64 s32 s64 bool size_t NULL, host_read_once() and
 * host_write_once(). Each host defines them in its host_types.h, found by the include path.
 */
#ifndef ANYBINDER_BASE_TYPES_H
#define ANYBINDER_BASE_TYPES_H

#include <host_types.h>

/* The structure of @type that contains @ptr as its @member. */
#define base_container_of(ptr, type, member) \
	((type *)((char *)(ptr) - __builtin_offsetof(type, member)))

#ifndef __uninitialized /* as the kernel has it */
#define __uninitialized
#endif
#ifndef noinline /* as the kernel has it */
#define noinline __attribute__((noinline))
#endif

#endif
