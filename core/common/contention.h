/* SPDX-License-Identifier: GPL-2.0 */
/*
 * contention: how often the locks of each rank were taken, and how often a thread had to
 * wait for one. Counted only while switched on.
 */
#ifndef BINDER_CONTENTION_H
#define BINDER_CONTENTION_H

#include "common/lock.h"

/* The sums over all threads since the last reset; threads may be counting meanwhile. */
struct binder_contention {
	unsigned long taken;
	unsigned long waited;
};
struct binder_contention binder_contention_of(enum binder_lock_rank rank);

/* Counts one lock operation. Any lock may be held. */
void binder_contention_count(enum binder_lock_rank rank, bool waited);

void binder_contention_reset(void);

#endif
