/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slow half of the locks in host_impl.h: what happens when somebody else holds one.
 */
#ifndef HOST_FUSE_FUTEX_H
#define HOST_FUSE_FUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The ranks of the engine's locks that this thread holds; only kept in debug builds. */
extern _Thread_local uint32_t futex_lock_ranks;

/* Takes a spinlock that was not free: spins, then lets others run, until it is. */
void futex_spin_slow(atomic_uint *word);

/* A mutex whose holder the kernel makes as urgent as who waits for it. */
void futex_pi_init(pthread_mutex_t *mutex);

#endif
