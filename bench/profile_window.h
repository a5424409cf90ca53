/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window of a profile: instructions without effect that show an emulator where the measured
 * calls of a client begin and end, and each call (bench/vm/profile.c, bench/vm/lines.c). Each
 * contains a number that no compiler would choose. Without an emulator it costs a nop.
 */
#ifndef BENCH_PROFILE_WINDOW_H
#define BENCH_PROFILE_WINDOW_H

#define PROFILE_BEGIN 0x61b1de01
#define PROFILE_END   0x61b1de02
#define PROFILE_CALL  0x61b1de03

#define PROFILE_STRING(x) #x
#define PROFILE_NUMBER(x) PROFILE_STRING(x)

#ifdef __x86_64__
/* nopl NUMBER(%rax) */
#define PROFILE_INSTRUCTION(number) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80; .long " PROFILE_NUMBER(number) ::: "memory")
#else
#define PROFILE_INSTRUCTION(number) ((void)0)
#endif

#endif
