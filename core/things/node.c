// SPDX-License-Identifier: GPL-2.0
/*
 * A node is a reconciliation.  On one side stands what the driver needs of the
 * owner: a strong hold while anybody else holds the object strongly, a weak one
 * while anybody holds it at all.  On the other side stands what the owner was
 * told (has_strong, has_weak).  Whenever the two may differ, the node is queued
 * as work; when a thread of the owner reads it, binder_node_reconcile() says
 * what to tell and takes note that it was told.  Nothing else ever tells.
 *
 * Who keeps the memory: handles (refs), local counts, and pins.  Pins are atomic
 * because they are taken under several locks, but they are only dropped under
 * the node's lock and its owner's inner lock, where "does anything still hold
 * this?" is decided (settle), or where something else holds the object for sure; a
 * name can be found in the tree only under that inner lock, so nobody finds a node
 * that was just decided to go.
 */
#include "things/node.h"

#include "things/context.h"
#include "notices/death.h"
#include "common/limits.h"
#include "common/cover.h"
#include "calls/inherit.h"
#include "things/proc.h"
#include "things/ref.h"
#include "things/thread.h"

static int compare_ptr(const void *key, const struct bt_node *node)
{
	u64 ptr = *(const u64 *)key;
	u64 other = bt_entry(node, struct binder_node, by_ptr)->ptr;

	return ptr < other ? -1 : ptr > other;
}

static int compare_nodes(const struct bt_node *a, const struct bt_node *b)
{
	return compare_ptr(&bt_entry(a, struct binder_node, by_ptr)->ptr, b);
}

static struct binder_node *pinned(struct bt_node *found)
{
	struct binder_node *node = NULL;

	if (found) {
		node = bt_entry(found, struct binder_node, by_ptr);
		binder_node_pin(node);
	}
	return node;
}

struct binder_node *binder_node_find(struct binder_proc *proc, u64 ptr)
{
	struct binder_node *node;

	binder_lock(&proc->inner_lock);
	node = pinned(bt_find(&proc->nodes, &ptr, compare_ptr));
	binder_unlock(&proc->inner_lock);
	return node;
}

struct binder_node *binder_node_find_from(struct binder_proc *proc, u64 ptr)
{
	struct binder_node *node;

	binder_lock(&proc->inner_lock);
	node = pinned(bt_lower_bound(&proc->nodes, &ptr, compare_ptr));
	binder_unlock(&proc->inner_lock);
	return node;
}

/* Both are changed by threads of the process alone, in their reads. */
static void read_refs_racy(const struct binder_node *node,
			   struct binder_node_debug_info *info) PEEKS;
static void read_refs_racy(const struct binder_node *node, struct binder_node_debug_info *info)
{
	info->has_strong_ref = node->has_strong;
	info->has_weak_ref = node->has_weak;
}

void binder_node_describe_from(struct binder_proc *proc, u64 ptr,
			       struct binder_node_debug_info *info)
{
	struct binder_node *node;
	struct bt_node *found;

	/* A pin would do as well, but to drop it is to ask the owner again. */
	binder_lock(&proc->inner_lock);
	found = bt_lower_bound(&proc->nodes, &ptr, compare_ptr);
	if (found) {
		node = bt_entry(found, struct binder_node, by_ptr);
		info->ptr = node->ptr;
		info->cookie = node->cookie;
		read_refs_racy(node, info);
	}
	binder_unlock(&proc->inner_lock);
}

static void node_init(struct binder_node *node, struct binder_proc *proc,
		      const struct flat_binder_object *fbo) NO_TSA /* nobody else sees it yet */
{
	u32 flags = fbo->flags;

	node->debug_id = binder_next_id();
	node->ptr = fbo->binder;
	node->cookie = fbo->cookie;
	binder_lock_init(&node->lock, RANK_NODE);
	binder_work_init(&node->work, WORK_NODE);
	bt_init(&node->by_ptr);
	bl_init(&node->dead_link);
	bl_init(&node->refs);
	bl_init(&node->async_todo);
	node->proc = proc;
	node->min_priority = binder_priority_of_flags(flags);
	node->inherit_rt = flags & FLAT_BINDER_FLAG_INHERIT_RT;
	node->accept_fds = flags & FLAT_BINDER_FLAG_ACCEPTS_FDS;
	node->txn_security_ctx = flags & FLAT_BINDER_FLAG_TXN_SECURITY_CTX;
	host_atomic_set(&node->pins, 1);
}

struct binder_node *binder_node_find_or_new(struct binder_proc *proc,
					    const struct flat_binder_object *fbo)
{
	struct binder_node *node = binder_node_find(proc, fbo->binder);
	struct binder_node *new;
	struct bt_node *there = NULL;
	bool full;

	if (node)
		return node;
	new = host_alloc(sizeof(*new));
	if (!new)
		return NULL;
	node_init(new, proc, fbo);
	binder_lock(&proc->inner_lock);
	full = proc->nr_nodes >= BINDER_MAX_NODES;
	if (!full)
		there = bt_insert(&proc->nodes, &new->by_ptr, compare_nodes);
	if (there) {
		BINDER_COVER(NODE_FOUND_MEANWHILE);
		node = bt_entry(there, struct binder_node, by_ptr);
		binder_node_pin(node);
	} else if (!full) {
		proc->nr_nodes++;
		node = new;
	}
	binder_unlock(&proc->inner_lock);
	if (node == new) {
		binder_stats_created(STAT_NODE);
		return new;
	}
	binder_lock_destroy(&new->lock);
	host_free(new);
	return node;
}

/* Puts the node into a todo list of its owner unless it stands in one. */
static void queue_for_owner_nlocked(struct binder_node *node, struct binder_proc *proc)
	REQUIRES(&node->lock)
{
	binder_lock(&proc->inner_lock);
	if (!bl_linked(&node->work.link) && !proc->is_dead) {
		bl_add_tail(&proc->todo, &node->work.link);
		binder_wake_proc_ilocked(proc);
	}
	binder_unlock(&proc->inner_lock);
}

/* Has the sending thread told of the node along with its completion.  A strong
 * need moves the work there from wherever it stands, so that the owner hears of
 * it before the receiver can act. */
static void queue_for_notifier_nlocked(struct binder_node *node, struct binder_thread *notifier,
				     bool strong) REQUIRES(&node->lock)
{
	struct binder_proc *proc = notifier->proc;

	binder_lock(&proc->inner_lock);
	if (strong) {
		if (bl_linked(&node->work.link))
			BINDER_COVER(NODE_WORK_MOVED);
		bl_del(&node->work.link);
		binder_thread_queue_deferred_ilocked(notifier, &node->work);
	} else if (!bl_linked(&node->work.link)) {
		binder_thread_queue_deferred_ilocked(notifier, &node->work);
	}
	binder_unlock(&proc->inner_lock);
}

int binder_node_inc_nlocked(struct binder_node *node, bool strong, bool internal,
			    struct binder_thread *notifier)
{
	if (strong) {
		bool known = node->internal_strong || (node->is_manager && node->has_strong);

		if (internal && !notifier && !known)
			return -EINVAL;
		if (internal)
			node->internal_strong++;
		else
			node->local_strong++;
		if (!node->has_strong && notifier)
			queue_for_notifier_nlocked(node, notifier, true);
		return 0;
	}
	if (!internal)
		node->local_weak++;
	if (node->has_weak)
		return 0;
	if (!notifier) {
		bool queued = true;

		if (node->proc) {
			binder_lock(&node->proc->inner_lock);
			queued = bl_linked(&node->work.link) || host_atomic_read(&node->telling);
			if (queued && !bl_linked(&node->work.link))
				BINDER_COVER(NODE_BEING_TOLD);
			binder_unlock(&node->proc->inner_lock);
		}
		if (!queued && !internal)
			node->local_weak--;
		return queued ? 0 : -EINVAL;
	}
	queue_for_notifier_nlocked(node, notifier, false);
	return 0;
}

int binder_node_inc(struct binder_node *node, bool strong, bool internal,
		    struct binder_thread *notifier)
{
	int err;

	binder_lock(&node->lock);
	err = binder_node_inc_nlocked(node, strong, internal, notifier);
	binder_unlock(&node->lock);
	return err;
}

static bool is_referenced_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	return !bl_empty(&node->refs) || node->local_weak ||
	       host_atomic_read(&node->pins) > node->local_pins;
}

/* True: nothing holds the node, and it has left the tree. */
static bool remove_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	struct binder_proc *proc = node->proc;
	bool gone;

	if (is_referenced_nlocked(node) || node->local_strong || node->internal_strong)
		return false;
	if (!proc)
		return !host_atomic_read(&node->pins);
	if (node->has_strong || node->has_weak)
		return false;
	binder_lock(&proc->inner_lock);
	/* Somebody may have found it in the tree up to here. */
	gone = !host_atomic_read(&node->pins);
	if (gone) {
		bl_del(&node->work.link);
		if (bt_linked(&node->by_ptr)) {
			bt_erase(&proc->nodes, &node->by_ptr);
			proc->nr_nodes--;
		}
	} else {
		BINDER_COVER(NODE_FOUND_DYING);
	}
	binder_unlock(&proc->inner_lock);
	return gone;
}

bool binder_node_remove_if_unused_nlocked(struct binder_node *node)
{
	struct binder_proc *proc = node->proc;

	if (is_referenced_nlocked(node))
		return false;
	/* Stock asks the owner without a look at what is strong. */
	if (proc && (node->has_strong || node->has_weak)) {
		queue_for_owner_nlocked(node, proc);
		return false;
	}
	return remove_nlocked(node);
}

bool binder_node_dec_nlocked(struct binder_node *node, bool strong, bool internal)
{
	u32 *count = NULL;

	if (strong)
		count = internal ? &node->internal_strong : &node->local_strong;
	else if (!internal)
		count = &node->local_weak;
	if (count && *count)
		--*count;
	if (strong && (node->local_strong || node->internal_strong))
		return false;
	if (strong && node->proc && (node->has_strong || node->has_weak)) {
		queue_for_owner_nlocked(node, node->proc);
		return false;
	}
	return binder_node_remove_if_unused_nlocked(node);
}

void binder_node_dec(struct binder_node *node, bool strong, bool internal)
{
	bool gone;

	binder_lock(&node->lock);
	gone = binder_node_dec_nlocked(node, strong, internal);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
}

void binder_node_unpin(struct binder_node *node)
{
	bool gone;

	binder_lock(&node->lock);
	gone = host_atomic_add_return(&node->pins, -1) <= node->local_pins &&
	       binder_node_remove_if_unused_nlocked(node);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
}

int binder_node_get_local(struct binder_node *node, bool strong)
{
	int err;

	binder_lock(&node->lock);
	err = binder_node_inc_nlocked(node, strong, false, NULL);
	if (!err) {
		binder_node_pin(node);
		node->local_pins++;
	}
	binder_unlock(&node->lock);
	return err;
}

void binder_node_put_local(struct binder_node *node, bool strong)
{
	bool gone;

	binder_lock(&node->lock);
	host_atomic_add_return(&node->pins, -1);
	node->local_pins--;
	gone = binder_node_dec_nlocked(node, strong, false);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
}

void binder_node_free(struct binder_node *node) NO_TSA /* nobody else sees it any more */
{
	binder_assert_unlocked();
	if (!node->proc) {
		binder_pi_mutex_lock(&binder_world.lock);
		bl_del(&node->dead_link);
		binder_pi_mutex_unlock(&binder_world.lock);
	}
	binder_lock_destroy(&node->lock);
	host_free(node);
	binder_stats_deleted(STAT_NODE);
}

void binder_node_begin_notify_ilocked(struct binder_node *node)
{
	binder_node_pin(node);
	host_atomic_add_return(&node->telling, 1);
}

u32 binder_node_reconcile(struct binder_node *node)
{
	bool strong, weak, gone = false;
	u32 tell = 0;

	binder_lock(&node->lock);
	strong = node->internal_strong || node->local_strong;
	/* One pin is the caller's own and holds nothing for anybody. */
	weak = strong || !bl_empty(&node->refs) || node->local_weak ||
	       host_atomic_read(&node->pins) > node->local_pins + 1;
	if (weak && !node->has_weak) {
		node->has_weak = true;
		node->pending_weak = true;
		node->local_weak++;
		tell |= NODE_NOTIFY_INCREFS;
	}
	if (strong && !node->has_strong) {
		node->has_strong = true;
		node->pending_strong = true;
		node->local_strong++;
		tell |= NODE_NOTIFY_ACQUIRE;
	}
	if (!strong && node->has_strong) {
		node->has_strong = false;
		tell |= NODE_NOTIFY_RELEASE;
	}
	if (!weak && node->has_weak) {
		node->has_weak = false;
		tell |= NODE_NOTIFY_DECREFS;
	}
	host_atomic_add_return(&node->telling, -1);
	/* The caller's pin goes; with it, maybe, the node.  The owner is being told. */
	gone = !host_atomic_add_return(&node->pins, -1) && remove_nlocked(node);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
	return tell;
}

void binder_node_done(struct binder_proc *proc, struct binder_thread *thread, bool strong,
		      const struct binder_ptr_cookie *arg)
{
	struct binder_node *node = binder_node_find(proc, arg->ptr);
	const char *wrong = NULL;
	bool gone = false;

	if (!node) {
		host_log(HOST_LOG_USER_ERROR, "%d:%d %s of unknown object %llx", proc->pid,
			 thread->tid, strong ? "BC_ACQUIRE_DONE" : "BC_INCREFS_DONE",
			 (unsigned long long)arg->ptr);
		return;
	}
	binder_lock(&node->lock);
	if (node->cookie != arg->cookie)
		wrong = "with a wrong cookie";
	else if (strong ? !node->pending_strong : !node->pending_weak)
		wrong = "that nobody waits for";
	if (!wrong) {
		if (strong)
			node->pending_strong = false;
		else
			node->pending_weak = false;
		gone = binder_node_dec_nlocked(node, strong, false);
	}
	binder_unlock(&node->lock);
	(void)gone; /* cannot be: this function holds a pin */
	binder_node_unpin(node);
	if (wrong)
		host_log(HOST_LOG_USER_ERROR, "%d:%d _DONE %s for object %llx", proc->pid,
			 thread->tid, wrong, (unsigned long long)arg->ptr);
}

void binder_node_orphan(struct binder_node *node)
{
	struct bl_list async;

	bl_init(&async);
	binder_pi_mutex_lock(&binder_world.lock);
	bl_add_tail(&binder_world.dead_nodes, &node->dead_link);
	binder_pi_mutex_unlock(&binder_world.lock);
	binder_lock(&node->lock);
	node->proc = NULL;
	node->local_strong = 0;
	node->local_weak = 0;
	bl_splice_tail(&async, &node->async_todo);
	binder_death_notify_nlocked(node);
	binder_unlock(&node->lock);
	binder_release_works(NULL, &async);
	binder_node_unpin(node);
}
