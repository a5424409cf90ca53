/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks that are held until the end of a scope, and the slow paths of the locks in host_impl.h: the
 * lock is held by another thread.
 */
#ifndef HOST_FUSE_LOCKS_H
#define HOST_FUSE_LOCKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The ranks of the engine's locks that this thread holds; debug builds only. */
extern _Thread_local uint32_t lock_ranks;

/* Takes a spinlock that was not free. */
void lock_spin_slow(atomic_uint *word);

/* Initialises a mutex with priority inheritance. */
void lock_pi_init(pthread_mutex_t *mutex);

static inline void guard_mutex_end(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* Takes @mutex until the end of the scope; what the scope returns is computed before that. */
#define guard_mutex(mutex) \
	pthread_mutex_t *guarded __attribute__((cleanup(guard_mutex_end), unused)) = (mutex); \
	pthread_mutex_lock(guarded)

#endif
