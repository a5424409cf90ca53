/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_proc: one open of a device.  All that a process owns in the engine
 * hangs on it, and its three locks order almost everything (docs/LOCKING.md).
 */
#ifndef BINDER_PROC_H
#define BINDER_PROC_H

#include "base/bitmap.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "memory/alloc.h"
#include "common/lock.h"
#include "common/stats.h"

struct binder_context;
struct binder_thread;

struct binder_proc {
	struct host_proc host;
	struct host_atomic refs;
	struct binder_context *context;
	s32 pid;
	struct bl_list world_link; /* world lock */
	struct binder_alloc alloc;
	/* what its threads go back to between calls: that of the first thread that
	 * calls; set once, before any other thread is in the tree */
	struct host_priority default_priority;

	struct binder_lock outer_lock;
	struct bt_root refs_by_desc GUARDED_BY(&outer_lock);
	struct bt_root refs_by_node GUARDED_BY(&outer_lock);
	struct bm_bitmap descs GUARDED_BY(&outer_lock);
	u32 nr_refs GUARDED_BY(&outer_lock);

	struct binder_lock inner_lock;
	bool is_dead GUARDED_BY(&inner_lock);
	struct bt_root threads GUARDED_BY(&inner_lock);
	u32 nr_threads GUARDED_BY(&inner_lock);
	struct bt_root nodes GUARDED_BY(&inner_lock);
	u32 nr_nodes GUARDED_BY(&inner_lock);
	struct bl_list todo GUARDED_BY(&inner_lock);
	struct bl_list waiting_threads GUARDED_BY(&inner_lock);
	struct bl_list delivered_death GUARDED_BY(&inner_lock);
	struct bl_list delivered_freeze GUARDED_BY(&inner_lock);
	s32 max_threads GUARDED_BY(&inner_lock);
	s32 requested_threads GUARDED_BY(&inner_lock);
	s32 requested_threads_started GUARDED_BY(&inner_lock);
	bool oneway_spam_detection GUARDED_BY(&inner_lock);
	/* frozen: see freeze.h */
	bool is_frozen GUARDED_BY(&inner_lock);
	bool sync_recv GUARDED_BY(&inner_lock);
	bool async_recv GUARDED_BY(&inner_lock);
	s32 outstanding_txns GUARDED_BY(&inner_lock);
	struct bl_list freeze_waiters GUARDED_BY(&inner_lock);

	struct host_atomic nr_notices; /* death and freeze registrations */

	struct binder_stats stats;
};

/* An open of @context, not yet known to the host; NULL: no memory.  May sleep. */
struct binder_proc *binder_proc_new(struct binder_context *context);
/* Frees it again, without host_proc_destroy(). */
void binder_proc_free(struct binder_proc *proc);

void binder_proc_get(struct binder_proc *proc);
/* One more registration of a notice; false if there are too many. */
bool binder_proc_add_notice(struct binder_proc *proc);
void binder_proc_drop_notice(struct binder_proc *proc);

/* Drops a count; the last one frees.  May sleep; no lock held. */
void binder_proc_put(struct binder_proc *proc);

/* The process dies: everything that it owned is released, everybody who waits
 * for it is told.  No call of its own is under way any more.  May sleep. */
void binder_proc_release(struct binder_proc *proc);

/* Drops what stands in a todo list that nobody will read any more.  @proc: whose
 * inner lock guards the list; NULL: nobody else can reach it. */
void binder_release_works(struct binder_proc *proc, struct bl_list *todo);

#endif
