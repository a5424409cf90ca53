/* SPDX-License-Identifier: GPL-2.0 */
/*
 * snapshot: a list of all processes with a reference to each, to be gone through without the
 * lock of the world. A process may die meanwhile and is empty then.
 */
#ifndef BINDER_SNAPSHOT_H
#define BINDER_SNAPSHOT_H

#include "host.h"

struct binder_proc;

struct binder_snapshot {
	struct binder_proc **procs; /* the last opened first */
	u32 nr;
};

/* Takes the references. -ENOMEM. May sleep; no lock held. */
int binder_snapshot_take(struct binder_snapshot *snapshot);
/* Puts the references and frees the list. May sleep; no lock held. */
void binder_snapshot_drop(struct binder_snapshot *snapshot);

#endif
