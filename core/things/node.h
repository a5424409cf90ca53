/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_node: an object that a process owns and others may hold handles to.
 *
 * The driver tells the owner what it needs (BR_INCREFS, BR_ACQUIRE) and no
 * longer needs (BR_RELEASE, BR_DECREFS).  A node keeps three kinds of counts:
 * handles of other processes (refs, of which internal_strong are strong), local
 * counts (buffers delivered to the owner, and the counts that its unfinished
 * BR_INCREFS/BR_ACQUIRE stand for), and pins of the engine itself, which only
 * keep the memory and the name in the tree.
 */
#ifndef BINDER_NODE_H
#define BINDER_NODE_H

#include "common/abi.h"
#include "base/rbtree.h"
#include "common/lock.h"
#include "common/work.h"

struct binder_proc;
struct binder_thread;

struct binder_node {
	u32 debug_id;
	u64 ptr;	/* by which the owner knows it; never changes */
	u64 cookie;	/* never changes */
	struct binder_lock lock;
	struct binder_work work;  /* inner_lock of the owner */
	struct bt_node by_ptr;	  /* inner_lock of the owner */
	struct bl_list dead_link; /* world lock, once the owner is gone */
	struct host_atomic pins;  /* added under lock or inner_lock, or to another pin;
				   * dropped by binder_node_unpin(), or by who queues a
				   * call (binder_transaction_queue()) */
	s32 local_pins GUARDED_BY(&lock); /* pins among them that hold memory and no more */
	struct host_atomic telling; /* readers of its work that have not yet reconciled it:
				     * added under inner_lock, dropped under lock */
	struct binder_proc *proc GUARDED_BY(&lock); /* NULL once it is gone */
	struct bl_list refs GUARDED_BY(&lock);	    /* binder_ref.node_link */
	u32 internal_strong GUARDED_BY(&lock);
	u32 local_strong GUARDED_BY(&lock);
	u32 local_weak GUARDED_BY(&lock);
	bool has_strong GUARDED_BY(&lock); /* the owner was told to hold it */
	bool has_weak GUARDED_BY(&lock);
	bool pending_strong GUARDED_BY(&lock); /* its _DONE is still to come */
	bool pending_weak GUARDED_BY(&lock);
	bool is_manager GUARDED_BY(&lock);
	/* one-way calls: one at a time, the rest stands in async_todo */
	bool async_busy GUARDED_BY(&lock);
	struct bl_list async_todo GUARDED_BY(&lock);
	/* from the flags that it was first sent with; never change */
	struct host_priority min_priority;
	bool inherit_rt;
	bool accept_fds;
	bool txn_security_ctx;
};

/* The node by which @proc knows @ptr, pinned; NULL if there is none. */
struct binder_node *binder_node_find(struct binder_proc *proc, u64 ptr);
/* The first node of @proc at @ptr or above, pinned; NULL if there is none. */
struct binder_node *binder_node_find_from(struct binder_proc *proc, u64 ptr);
/* Describes the first node from @ptr on; *info stays as it is if there is none. */
void binder_node_describe_from(struct binder_proc *proc, u64 ptr,
			       struct binder_node_debug_info *info);
/* As binder_node_find(), made if need be from @fbo's ptr, cookie and flags.  NULL: no memory
 * or BINDER_MAX_NODES reached.  May sleep. */
struct binder_node *binder_node_find_or_new(struct binder_proc *proc,
					    const struct flat_binder_object *fbo);

static inline void binder_node_pin(struct binder_node *node)
{
	host_atomic_add(&node->pins, 1);
}

/* Drops a pin; the node goes if nothing else holds it.  No lock held. */
void binder_node_unpin(struct binder_node *node);

/* A buffer of the owner's holds the object, until it is freed: a local count, and
 * a pin that only keeps the memory (the owner's counts go when it dies).
 * -EINVAL: the owner does not hold it.  No lock held. */
int binder_node_get_local(struct binder_node *node, bool strong);
void binder_node_put_local(struct binder_node *node, bool strong);

/*
 * Counts.  `internal`: by a handle of another process.  When the owner has to
 * be told, that happens in @notifier's returns (the thread that is sending the
 * object); without one, a count that the owner does not know of yet is
 * -EINVAL.  A dec returns true when nothing holds the node any more: the caller
 * then calls binder_node_free() after unlocking.
 */
int binder_node_inc(struct binder_node *node, bool strong, bool internal,
		    struct binder_thread *notifier) EXCLUDES(&node->lock);
/* binder_node_inc_nlocked(node, true, false, NULL), which always succeeds. */
static inline void binder_node_inc_local_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	node->local_strong++;
}
void binder_node_dec(struct binder_node *node, bool strong, bool internal)
	EXCLUDES(&node->lock);
int binder_node_inc_nlocked(struct binder_node *node, bool strong, bool internal,
			    struct binder_thread *notifier) REQUIRES(&node->lock);
bool binder_node_dec_nlocked(struct binder_node *node, bool strong, bool internal)
	REQUIRES(&node->lock);
/* Is there nothing that holds the node?  Then it has left the tree on return. */
bool binder_node_remove_if_unused_nlocked(struct binder_node *node) REQUIRES(&node->lock);
void binder_node_free(struct binder_node *node);

/* What the owner has to be told, in this order; and the node's fields brought
 * in line with having told it.  For the WORK_NODE that was just dequeued and
 * pinned; drops that pin, and with it maybe the node. */
enum {
	NODE_NOTIFY_INCREFS = 1,
	NODE_NOTIFY_ACQUIRE = 2,
	NODE_NOTIFY_RELEASE = 4,
	NODE_NOTIFY_DECREFS = 8,
};
u32 binder_node_reconcile(struct binder_node *node);
/* The WORK_NODE was dequeued: pins the node for binder_node_reconcile().  Its owner's
 * inner_lock. */
void binder_node_begin_notify_ilocked(struct binder_node *node);

/* BC_INCREFS_DONE and BC_ACQUIRE_DONE. */
void binder_node_done(struct binder_proc *proc, struct binder_thread *thread, bool strong,
		      const struct binder_ptr_cookie *arg);

/* The owner is gone: tells those who asked (death.h), and leaves the node to
 * its handles.  The caller took it out of the tree and pinned it; that pin is
 * dropped here. */
void binder_node_orphan(struct binder_node *node);

#endif
