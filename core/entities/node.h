/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_node: an object that a process owns and other processes may have handles to.
 *
 * The driver tells the owner to take references (BR_INCREFS, BR_ACQUIRE) and to drop them
 * (BR_RELEASE, BR_DECREFS). A node counts the handles of other processes (refs, of which
 * internal_strong are strong), local references (buffers delivered to the owner, and the
 * references that an unfinished BR_INCREFS or BR_ACQUIRE stands for), and pins of the
 * engine itself, which only keep the memory and the node's place in the tree.
 */
#ifndef BINDER_NODE_H
#define BINDER_NODE_H

#include "base/rbtree.h"
#include "common/abi.h"
#include "common/lock.h"
#include "common/work.h"
#include "entities/proc.h"

struct binder_thread;

struct binder_node {
	/* Written in each call by its sender and its receiver. */
	struct binder_lock lock;
	struct binder_proc *proc GUARDED_BY(&lock); /* NULL once it is gone */
	struct bl_list refs GUARDED_BY(&lock);	    /* binder_ref.node_link */
	struct host_atomic pins;  /* added under lock or inner_lock, or to another pin; dropped
				   * by binder_node_unpin(), or when a call is queued (queue.c) */
	u32 internal_strong GUARDED_BY(&lock);
	u32 local_strong GUARDED_BY(&lock);
	u32 local_weak GUARDED_BY(&lock);
	bool has_strong GUARDED_BY(&lock); /* the owner was notified to acquire */
	bool has_weak GUARDED_BY(&lock);
	bool pending_strong GUARDED_BY(&lock); /* BC_ACQUIRE_DONE is awaited */
	bool pending_weak GUARDED_BY(&lock);   /* BC_INCREFS_DONE is awaited */
	bool is_manager GUARDED_BY(&lock);
	/* one-way calls are delivered one at a time, the others wait in async_todo */
	bool async_busy GUARDED_BY(&lock);

	/* Rarely written. */
	u32 debug_id HOST_LINE_ALIGNED;
	/* from the flags that it was first sent with; never change */
	struct host_priority min_priority;
	bool inherit_rt;
	bool accept_fds;
	bool txn_security_ctx;
	u64 ptr;		  /* the owner's name for it; never changes */
	u64 cookie;		  /* never changes */
	struct binder_work work;  /* inner_lock of the owner */
	struct bt_node by_ptr;	  /* inner_lock of the owner */
	struct bl_list dead_link; /* binder_world.lock, once the owner is gone */
	struct bl_list async_todo GUARDED_BY(&lock); /* see async_busy */
	s32 local_pins GUARDED_BY(&lock); /* pins of local references: they only keep memory */
};

/* Initialises a node, which is all zero, but for what describes it. @proc: NULL if it is gone. */
void binder_node_init(struct binder_node *node, struct binder_proc *proc);
/*
 * Inserts @node by its address. Returns the node that @proc has there from now on: @node, or one
 * that was there before. NULL: BINDER_MAX_NODES.
 */
struct binder_node *binder_node_insert_ilocked(struct binder_proc *proc, struct binder_node *node)
	REQUIRES(&proc->inner_lock);

/* The node that @proc knows as @ptr, pinned; NULL if there is none. No lock held. */
struct binder_node *binder_node_find(struct binder_proc *proc, u64 ptr);
/* The first node of @proc at @ptr or above, pinned; NULL if there is none. */
struct binder_node *binder_node_find_from(struct binder_proc *proc, u64 ptr);
/* Describes that node without a pin; *@info is unchanged if there is none. */
void binder_node_describe_from(struct binder_proc *proc, u64 ptr,
			       struct binder_node_debug_info *info);
/*
 * Finds the node as binder_node_find() does, or creates it from @fbo's ptr, cookie and flags. NULL:
 * no memory, or BINDER_MAX_NODES. May sleep.
 */
struct binder_node *binder_node_find_or_new(struct binder_proc *proc,
					    const struct flat_binder_object *fbo);

static inline void binder_node_pin(struct binder_node *node)
{
	host_atomic_add(&node->pins, 1);
}
/*
 * Pins a node on the list of dead nodes, whose lock is held. False: it has no reference any more
 * and is about to be freed.
 */
bool binder_node_pin_dead(struct binder_node *node);
/* Frees the node if it was the last reference of any kind. No lock held. */
void binder_node_unpin(struct binder_node *node);

bool binder_node_is_owned_by(struct binder_node *node, const struct binder_proc *proc)
	EXCLUDES(&node->lock);
/*
 * The node becomes the context manager's: the driver keeps it referenced, without
 * notifying the owner.
 */
void binder_node_set_manager(struct binder_node *node) EXCLUDES(&node->lock);

/*
 * A local reference for a buffer that is delivered to the owner: a count, and a pin that
 * only keeps the memory, because the counts end with the owner. No lock held.
 */
void binder_node_get_local(struct binder_node *node, bool strong);
void binder_node_put_local(struct binder_node *node, bool strong);

/*
 * Counts a handle of another process, whose first @strong or weak reference this is. When the owner
 * has to be notified, the work is queued for @notifier, the owner's thread that is sending the
 * object; without one, a strong reference that the owner does not have yet is -EINVAL. A weak one
 * always succeeds: there is no node of which the owner was told that nobody has a reference.
 */
int binder_node_inc_handle(struct binder_node *node, bool strong, struct binder_thread *notifier)
	EXCLUDES(&node->lock);

/* The counts that end one by one. A weak handle has none: it is in the node's list of refs. */
enum binder_node_count {
	NODE_HANDLE_STRONG, /* internal_strong */
	NODE_LOCAL_STRONG,
	NODE_LOCAL_WEAK,
};
void binder_node_dec(struct binder_node *node, enum binder_node_count which)
	EXCLUDES(&node->lock);
/* Returns true if no reference is left: the caller calls binder_node_free() after unlocking. */
bool binder_node_dec_nlocked(struct binder_node *node, enum binder_node_count which)
	REQUIRES(&node->lock);
/* Takes a strong local reference, which always succeeds. */
static inline void binder_node_inc_local_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	binder_assert_held(&node->lock);
	node->local_strong++;
}
/* No lock held; may sleep. */
void binder_node_free(struct binder_node *node);

/* What the owner has to be notified of, in this order. */
enum {
	NODE_NOTIFY_INCREFS = 1,
	NODE_NOTIFY_ACQUIRE = 2,
	NODE_NOTIFY_RELEASE = 4,
	NODE_NOTIFY_DECREFS = 8,
};
/* The node's work was dequeued: pins the node for binder_node_reconcile(). */
void binder_node_begin_notify_ilocked(struct binder_node *node, struct binder_proc *owner)
	REQUIRES(&owner->inner_lock);
/*
 * Returns what to notify the owner of, and updates the node as if that was done. Drops
 * the pin, and maybe frees the node. No lock held.
 */
u32 binder_node_reconcile(struct binder_node *node);

/* BC_INCREFS_DONE and BC_ACQUIRE_DONE. */
void binder_node_done(struct binder_thread *thread, bool strong,
		      const struct binder_ptr_cookie *arg);

#endif
