/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slow paths of the locks in host_impl.h: the lock is held by another thread.
 */
#ifndef HOST_FUSE_FUTEX_H
#define HOST_FUSE_FUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The ranks of the engine's locks that this thread holds; debug builds only. */
extern _Thread_local uint32_t futex_lock_ranks;

/* Takes a contended spinlock: spins, then yields, then sleeps for short times, until it is free. */
void futex_spin_slow(atomic_uint *word);

/* Initialises a mutex with priority inheritance. */
void futex_pi_init(pthread_mutex_t *mutex);

#endif
