/* SPDX-License-Identifier: GPL-2.0 */
/* The names that the engine has for types of fixed size. */
#ifndef HOST_FUSE_TYPES_H
#define HOST_FUSE_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64; /* so that the engine's %llu fits */
typedef int8_t s8;
typedef int32_t s32;
typedef long long s64;

#endif
