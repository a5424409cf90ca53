/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Switches of the measurements. All are off by default; one that is off costs the load of a value
 * that does not change.
 */
#ifndef HOST_FUSE_SWITCHES_H
#define HOST_FUSE_SWITCHES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* One mutex around all calls (core/common/locking_mode.h); set before the first call. */
extern bool switch_locking_global;
extern pthread_mutex_t switch_global_lock;

/* Locks are counted (core/common/contention.h). */
extern atomic_bool switch_count_locks;
/* A number of the calling thread, from 1. */
unsigned int switch_shard(void);

#endif
