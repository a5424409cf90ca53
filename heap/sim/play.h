/* SPDX-License-Identifier: GPL-2.0 */
/* play: runs one seed, in which fibers work on one pool or on a store. */
#ifndef HEAP_SIM_PLAY_H
#define HEAP_SIM_PLAY_H

#include "pool_host.h"

/*
 * Ends the process with a line on stderr if a rule is broken or all fibers are blocked. Returns a
 * hash that is the same for each run of a seed; the events are counted in fake.happened.
 */
u64 play(u64 seed);

#endif
