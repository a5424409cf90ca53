/* SPDX-License-Identifier: GPL-2.0 */
/* play: one seed's world, in which fibers work on one pool or on a store. */
#ifndef HEAP_SIM_PLAY_H
#define HEAP_SIM_PLAY_H

#include "pool_host.h"

/* Ends the process with a line on stderr if a rule is broken or nobody can go on. Returns a number
 * that two plays of a seed have in common; what happened is left in home. */
u64 play(u64 seed);

#endif
