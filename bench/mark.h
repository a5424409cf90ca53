/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The measured time, marked for an emulator that watches (bench/vm/profile.c): an instruction that
 * does nothing, with a number in it that no compiler would choose. Elsewhere it costs a nop.
 */
#ifndef BENCH_MARK_H
#define BENCH_MARK_H

#define MARK_BEGIN 0x61b1de01
#define MARK_END   0x61b1de02

#define MARK_STRING(x)	#x
#define MARK_NUMBER(x)	MARK_STRING(x)

#ifdef __x86_64__
/* nopl NUMBER(%rax) */
#define MARK(number) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80; .long " MARK_NUMBER(number) ::: "memory")
#else
#define MARK(number) ((void)0)
#endif

#endif
