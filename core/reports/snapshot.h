/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A snapshot of which processes exist: each counted, so that one can look at
 * them one by one without holding the world still.  A process may die
 * meanwhile; then it is found empty.
 */
#ifndef BINDER_SNAPSHOT_H
#define BINDER_SNAPSHOT_H

#include "host.h"

struct binder_proc;

struct binder_snapshot {
	struct binder_proc **procs; /* the youngest first */
	u32 nr;
};

/* -ENOMEM.  May sleep; no lock held.  Pair: binder_snapshot_drop(). */
int binder_snapshot_take(struct binder_snapshot *snapshot);
void binder_snapshot_drop(struct binder_snapshot *snapshot);

#endif
