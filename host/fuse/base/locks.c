// SPDX-License-Identifier: GPL-2.0
/*
 * The slow paths of the locks.
 *
 * Critical sections are short, so the holder is most likely running on another core and about to
 * release the lock: spin briefly first. If the holder was preempted, further spinning would only
 * keep it from running. The unlock does not check for waiters, so a waiter cannot sleep until it is
 * woken: it yields the processor, and after some yields sleeps for NAP_US at a time.
 */
#include "base/locks.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#define SPINS 100
#define YIELDS 16
#define NAP_US 20

_Thread_local uint32_t lock_ranks;

static void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static bool try_lock(atomic_uint *word)
{
	unsigned int expected = 0;

	return !atomic_load_explicit(word, memory_order_relaxed) &&
	       atomic_compare_exchange_strong_explicit(word, &expected, 1, memory_order_acquire,
						       memory_order_relaxed);
}

void lock_spin_slow(atomic_uint *word)
{
	for (unsigned int i = 0; !try_lock(word); i++) {
		if (i < SPINS)
			pause_briefly();
		else if (i < SPINS + YIELDS)
			sched_yield();
		else
			usleep(NAP_US);
	}
}

void lock_pi_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	/* a kernel without it: an ordinary mutex, which cannot fail */
	if (pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(mutex, &attributes))
		pthread_mutex_init(mutex, NULL);
	pthread_mutexattr_destroy(&attributes);
}
