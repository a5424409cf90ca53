/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slow paths of the locks in host_impl.h: the lock is held by another thread.
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

#endif
