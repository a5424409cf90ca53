/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BINDER_INLINE, before the definition of a function that a common call passes through: where its
 * callers are compiled along with it, it becomes part of them, however large it is.
 */
#ifndef BINDER_BASE_INLINE_H
#define BINDER_BASE_INLINE_H

#define BINDER_INLINE inline __attribute__((__always_inline__))
/* The opposite, for what a common call does not pass through. */
#define BINDER_ASIDE __attribute__((__noinline__))

/* The value of @x is what it is, wherever it came from: for what the compiler would otherwise
 * compute over and over. */
#define BINDER_KEEP(x) __asm__("" : "+r"(x))

#endif
