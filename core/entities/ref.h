/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_ref: a handle, the reference of one process to a node of another. Its number
 * (desc) is the lowest free one; 0 is reserved for the context manager.
 */
#ifndef BINDER_REF_H
#define BINDER_REF_H

#include "base/list.h"
#include "base/rbtree.h"
#include "common/lock.h"
#include "entities/proc.h"

struct binder_node;
struct binder_notice;
struct binder_thread;

struct binder_ref {
	u32 debug_id;
	u32 desc;
	struct binder_proc *proc;
	struct binder_node *node; /* exists as long as this is in its list of refs */
	struct bt_node by_desc;	  /* proc->outer_lock */
	struct bt_node by_node;	  /* proc->outer_lock */
	struct bl_list node_link; /* node->lock */
	u32 strong, weak;	  /* proc->outer_lock */
	struct binder_notice *death;  /* node->lock */
	struct binder_notice *freeze; /* node->lock */
};

/* Initialises a reference of @proc, which is all zero. */
void binder_ref_init(struct binder_ref *ref, struct binder_proc *proc);
/*
 * Inserts @ref, whose number the process has taken, by that and by its node; not in the list of the
 * node. False: the process has a reference to the node.
 */
bool binder_ref_insert_olocked(struct binder_proc *proc, struct binder_ref *ref)
	REQUIRES(&proc->outer_lock);

/*
 * The reference with handle @desc; NULL if there is none, or if @need_strong and it is
 * weak only.
 */
struct binder_ref *binder_ref_find_olocked(struct binder_proc *proc, u32 desc, bool need_strong)
	REQUIRES(&proc->outer_lock);
/* The first reference with handle @desc or above; NULL if there is none. */
struct binder_ref *binder_ref_find_from_olocked(struct binder_proc *proc, u32 desc)
	REQUIRES(&proc->outer_lock);

/* The node behind a handle, pinned; NULL as above. No lock held. */
struct binder_node *binder_ref_get_node(struct binder_proc *proc, u32 desc, bool need_strong);

/* The debug id of a handle, 0 if there is none. */
u32 binder_ref_debug_id(struct binder_proc *proc, u32 desc);

/*
 * Adds a count to @proc's handle for @node (pinned by the caller), which is created if there
 * is none. 0 and *@desc; -ENOMEM; -EINVAL (binder_node_inc_handle()). May sleep.
 */
int binder_ref_inc_node(struct binder_proc *proc, struct binder_node *node, bool strong,
			struct binder_thread *notifier, u32 *desc);

/* What a client does to its counts of a handle, as the commands BC_*: weak and strong, one each. */
enum binder_ref_change { REF_INCREFS, REF_ACQUIRE, REF_RELEASE, REF_DECREFS };

/* Adds or drops a count of handle @desc. -EINVAL: no such handle, or no such count. */
int binder_ref_update(struct binder_proc *proc, u32 desc, enum binder_ref_change change);

/*
 * BC_INCREFS, BC_ACQUIRE, BC_RELEASE, BC_DECREFS. A count that cannot be changed is logged
 * and ignored (0); a context manager that acquires a handle to itself gets -EINVAL (as in
 * the C driver).
 */
int binder_ref_command(struct binder_thread *thread, u32 desc, enum binder_ref_change change);

/* Removes all handles of a process that dies. */
void binder_ref_release_all(struct binder_proc *proc);

#endif
