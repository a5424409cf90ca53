/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_ref: a handle, by which one process holds another's node.  The number
 * (desc) is the lowest free one; 0 is the context manager and nothing else.
 */
#ifndef BINDER_REF_H
#define BINDER_REF_H

#include "base/list.h"
#include "base/rbtree.h"
#include "common/lock.h"

struct binder_death;
struct binder_freeze;
struct binder_node;
struct binder_proc;
struct binder_thread;

struct binder_ref {
	u32 debug_id;
	u32 desc;
	struct binder_proc *proc;
	struct binder_node *node; /* alive as long as this is in its refs */
	struct bt_node by_desc;	  /* proc->outer_lock */
	struct bt_node by_node;	  /* proc->outer_lock */
	struct bl_list node_link; /* node->lock */
	u32 strong, weak;	  /* proc->outer_lock */
	struct binder_death *death;   /* node->lock */
	struct binder_freeze *freeze; /* node->lock */
};

/* The ref of handle @desc; NULL if there is none, or if @need_strong and it is
 * a weak one. */
struct binder_ref *binder_ref_find_olocked(struct binder_proc *proc, u32 desc, bool need_strong);

/* The node behind a handle, pinned; NULL as above. */
struct binder_node *binder_ref_get_node(struct binder_proc *proc, u32 desc, bool need_strong);

/* The number by which logs and traces name a handle; 0: there is no such. */
u32 binder_ref_debug_id(struct binder_proc *proc, u32 desc);

/* Adds a count to @proc's handle for @node (pinned by the caller), made if need
 * be.  0 and *@desc; -ENOMEM; -EINVAL (binder_node_inc).  May sleep. */
int binder_ref_inc_node(struct binder_proc *proc, struct binder_node *node, bool strong,
			struct binder_thread *notifier, u32 *desc);

/* Adds or drops a count of the handle @desc.  -EINVAL: there is no such handle
 * or no such count. */
int binder_ref_update(struct binder_proc *proc, u32 desc, bool inc, bool strong);

/* BC_INCREFS, BC_ACQUIRE, BC_RELEASE, BC_DECREFS.  A count that cannot be
 * changed is logged and ignored (0); a manager that wants a handle to itself
 * gets -EINVAL (stock behaviour). */
int binder_ref_command(struct binder_proc *proc, struct binder_thread *thread, u32 desc, bool inc,
		       bool strong);

/* Drops every handle of a dying process. */
void binder_ref_release_all(struct binder_proc *proc);

#endif
