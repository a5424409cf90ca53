/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_proc: one open of a device. It owns everything that a process has in the
 * engine, and its locks order almost everything (docs/LOCKING.md).
 */
#ifndef BINDER_PROC_H
#define BINDER_PROC_H

#include "base/bitmap.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "common/lock.h"
#include "common/stats.h"
#include "memory/buffer_alloc.h"

struct binder_context;
struct binder_thread;

/*
 * In groups by who writes them in a call, because a cache line moves to the CPU that writes any
 * part of it. The alloc has groups of its own.
 */
struct binder_proc {
	/* Set once, or rarely; read by others. */
	struct host_proc host;
	struct binder_context *context;
	s32 pid;
	u64 serial;		   /* rising in the order of opens; set once */
	struct bl_list world_link; /* binder_world.lock */
	/*
	 * what its threads have between calls: the priority of the opening thread; set once,
	 * before another thread sees the process
	 */
	struct host_priority default_priority;
	struct binder_alloc alloc;

	/* Written by its own threads. */
	struct binder_lock outer_lock HOST_LINE_ALIGNED;
	struct bt_root refs_by_desc GUARDED_BY(&outer_lock);
	struct bt_root refs_by_node GUARDED_BY(&outer_lock);
	struct bm_bitmap descs GUARDED_BY(&outer_lock);
	u32 nr_refs GUARDED_BY(&outer_lock);
	struct host_atomic nr_notices; /* death and freeze registrations */
	struct binder_stats stats;

	/* Written by its own threads and by those that call it or reply to it. */
	struct binder_lock inner_lock HOST_LINE_ALIGNED;
	struct bl_list todo GUARDED_BY(&inner_lock);
	struct bl_list waiting_threads GUARDED_BY(&inner_lock);
	struct host_atomic refs;
	s32 outstanding_txns GUARDED_BY(&inner_lock);
	bool is_dead GUARDED_BY(&inner_lock);
	bool oneway_spam_detection GUARDED_BY(&inner_lock);
	/* freezing (notices/freeze.h) */
	bool is_frozen GUARDED_BY(&inner_lock);
	bool sync_recv GUARDED_BY(&inner_lock);
	bool async_recv GUARDED_BY(&inner_lock);

	/* Rarely written. */
	struct bt_root threads HOST_LINE_ALIGNED GUARDED_BY(&inner_lock);
	u32 nr_threads GUARDED_BY(&inner_lock);
	s32 max_threads GUARDED_BY(&inner_lock);
	s32 requested_threads GUARDED_BY(&inner_lock);
	s32 requested_threads_started GUARDED_BY(&inner_lock);
	struct bt_root nodes GUARDED_BY(&inner_lock);
	u32 nr_nodes GUARDED_BY(&inner_lock);
	struct bl_list delivered_death GUARDED_BY(&inner_lock);
	struct bl_list delivered_freeze GUARDED_BY(&inner_lock);
	struct bl_list freeze_waiters GUARDED_BY(&inner_lock); /* binder_thread.freeze_link */
};

/*
 * An open of @context, with one reference, not yet initialised by the host; NULL: no memory. May
 * sleep.
 */
struct binder_proc *binder_proc_new(struct binder_context *context);
/* Frees it before host_proc_init() succeeded. May sleep. */
void binder_proc_free(struct binder_proc *proc);

/* The last put frees it. May sleep; no lock held. */
void binder_proc_get(struct binder_proc *proc);
void binder_proc_put(struct binder_proc *proc);

/*
 * A transaction that is or may be answered by @proc begins; ends. The end of the last
 * one wakes the threads that wait to freeze the process.
 */
static inline void binder_proc_txn_begin_ilocked(struct binder_proc *proc)
	REQUIRES(&proc->inner_lock)
{
	binder_assert_held(&proc->inner_lock);
	proc->outstanding_txns++;
}
void binder_proc_txn_end_ilocked(struct binder_proc *proc) REQUIRES(&proc->inner_lock);
/* Wakes the threads that wait to freeze @proc, if any. */
void binder_proc_wake_freezers_ilocked(struct binder_proc *proc) REQUIRES(&proc->inner_lock);

#endif
