// SPDX-License-Identifier: GPL-2.0
/*
 * The slow half of the locks.
 *
 * A lock word is 0 (free), 1 (held) or 2 (held, and somebody may sleep). Sections are short, so
 * the holder is most likely running on another core and gone in a moment: spin a little first. If
 * it was preempted, spinning only keeps it from running: sleep.
 */
#include "futex.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 100

_Thread_local uint32_t futex_lock_ranks;

void futex_lock_slow(atomic_uint *word)
{
	for (int i = 0; i < SPINS; i++) {
		unsigned int expected = 0;

		if (!atomic_load_explicit(word, memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(word, &expected, 1,
							    memory_order_acquire,
							    memory_order_relaxed))
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	while (atomic_exchange_explicit(word, 2, memory_order_acquire))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void futex_lock_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
