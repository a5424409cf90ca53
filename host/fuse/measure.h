/* SPDX-License-Identifier: GPL-2.0 */
/*
 * measure: what the daemon was told to do for whoever measures it. Nothing of it is on by default,
 * and what is off costs a load that is always the same.
 */
#ifndef HOST_FUSE_MEASURE_H
#define HOST_FUSE_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>

/* One mutex around all calls; set before there are any. */
extern bool measure_global_regime;

/* How often locks are found taken is counted (core/contention.h). */
extern atomic_bool measure_locks;
/* The number of the calling thread among those that ever asked. */
unsigned int measure_shard(void);

/* Stages of calls are recorded (stages.h). */
extern atomic_bool measure_stages;

#endif
