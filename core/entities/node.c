// SPDX-License-Identifier: GPL-2.0
/*
 * A node reconciles two states. One is what the driver needs: a strong reference of the
 * owner while any party has a strong reference, a weak one while any party has one at
 * all. The other is what the owner was notified of (has_strong, has_weak). Whenever the
 * two may differ, the node is queued as work; a thread of the owner that reads the work
 * calls binder_node_reconcile(), which returns the notifications and updates the state.
 * There is no other way to notify an owner.
 *
 * References, local references and pins keep the memory. Pins are atomic because they are
 * taken under several locks, but the last one is only dropped under the node's lock and the
 * owner's inner lock, where the node is removed if nothing else is left. A node is found
 * in the tree only under that inner lock, so a removed node is not found.
 */
#include "entities/node.h"

#include "common/cover.h"
#include "common/limits.h"
#include "pure/priority_flags.h"
#include "entities/proc.h"
#include "entities/thread.h"
#include "entities/world.h"

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

static struct binder_node *node_pinned(struct bt_node *found)
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
	node = node_pinned(bt_find(&proc->nodes, &ptr, compare_ptr));
	binder_unlock(&proc->inner_lock);
	return node;
}

struct binder_node *binder_node_find_from(struct binder_proc *proc, u64 ptr)
{
	struct binder_node *node;

	binder_lock(&proc->inner_lock);
	node = node_pinned(bt_lower_bound(&proc->nodes, &ptr, compare_ptr));
	binder_unlock(&proc->inner_lock);
	return node;
}

/*
 * Only reads of the owner's threads change them, so to a thread of the owner a stale value
 * looks like the answer of an earlier moment. Nothing orders the two, but the owner is never
 * told of a strong reference without a weak one.
 */
static void load_refs_racy(const struct binder_node *node, struct binder_node_debug_info *info)
{
	bool strong = BINDER_READ_ONCE(node->has_strong);

	info->has_weak_ref = BINDER_READ_ONCE(node->has_weak);
	info->has_strong_ref = strong && info->has_weak_ref;
}

void binder_node_describe_from(struct binder_proc *proc, u64 ptr,
			       struct binder_node_debug_info *info)
{
	struct binder_node *node;
	struct bt_node *found;

	/* Dropping a pin could notify the owner again, so none is taken. */
	binder_lock(&proc->inner_lock);
	found = bt_lower_bound(&proc->nodes, &ptr, compare_ptr);
	if (found) {
		node = bt_entry(found, struct binder_node, by_ptr);
		info->ptr = node->ptr;
		info->cookie = node->cookie;
		load_refs_racy(node, info);
	}
	binder_unlock(&proc->inner_lock);
}

void binder_node_init(struct binder_node *node, struct binder_proc *proc)
{
	binder_lock_init(&node->lock, RANK_NODE);
	binder_work_init(&node->work, WORK_NODE);
	bt_init(&node->by_ptr);
	bl_init(&node->dead_link);
	bl_init(&node->refs);
	bl_init(&node->async_todo);
	node->proc = proc;
}

struct binder_node *binder_node_insert_ilocked(struct binder_proc *proc, struct binder_node *node)
{
	struct bt_node *existing;

	binder_assert_held(&proc->inner_lock);
	if (proc->nr_nodes >= BINDER_MAX_NODES)
		return NULL;
	existing = bt_insert(&proc->nodes, &node->by_ptr, compare_nodes);
	if (existing)
		return bt_entry(existing, struct binder_node, by_ptr);
	proc->nr_nodes++;
	return node;
}

static void node_describe(struct binder_node *node, const struct flat_binder_object *fbo)
{
	u32 flags = fbo->flags;

	node->debug_id = binder_next_id();
	node->ptr = fbo->binder;
	node->cookie = fbo->cookie;
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

	if (node)
		return node;
	new = host_alloc(&proc->host, sizeof(*new));
	if (!new)
		return NULL;
	binder_node_init(new, proc);
	node_describe(new, fbo);
	binder_lock(&proc->inner_lock);
	node = binder_node_insert_ilocked(proc, new);
	if (node && node != new) {
		BINDER_COVER(NODE_FOUND_MEANWHILE);
		binder_node_pin(node);
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

/* Queues the node for its owner unless it is queued already. */
static void queue_for_owner_nlocked(struct binder_node *node, struct binder_proc *proc)
	REQUIRES(&node->lock)
{
	binder_assert_held(&node->lock);
	binder_lock(&proc->inner_lock);
	if (!bl_linked(&node->work.link) && !proc->is_dead)
		binder_proc_queue_ilocked(proc, &node->work);
	binder_unlock(&proc->inner_lock);
}

/*
 * Queues the node to be delivered with the completion of @notifier's transaction. For a
 * strong reference the work moves there from another list, so that the owner is notified
 * before the receiver can act.
 */
static void queue_for_notifier_nlocked(struct binder_node *node, struct binder_thread *notifier,
				       bool strong) REQUIRES(&node->lock)
{
	binder_assert_held(&node->lock);
	binder_lock(&notifier->proc->inner_lock);
	if (strong && bl_linked(&node->work.link)) {
		BINDER_COVER(NODE_WORK_MOVED);
		bl_del(&node->work.link);
	}
	if (!bl_linked(&node->work.link))
		binder_thread_queue_deferred_ilocked(notifier, &node->work);
	binder_unlock(&notifier->proc->inner_lock);
}

static int inc_strong_nlocked(struct binder_node *node, struct binder_thread *notifier)
	REQUIRES(&node->lock)
{
	bool known = node->internal_strong || (node->is_manager && node->has_strong);

	binder_assert_held(&node->lock);
	if (!notifier && !known)
		return -EINVAL;
	node->internal_strong++;
	if (!node->has_strong && notifier)
		queue_for_notifier_nlocked(node, notifier, true);
	return 0;
}

int binder_node_inc_handle(struct binder_node *node, bool strong, struct binder_thread *notifier)
{
	int err = 0;

	binder_lock(&node->lock);
	if (strong)
		err = inc_strong_nlocked(node, notifier);
	else if (!node->has_weak && notifier)
		queue_for_notifier_nlocked(node, notifier, false);
	binder_unlock(&node->lock);
	return err;
}

/*
 * Does anything keep the node that counts as a weak reference: a handle, even a weak one, a weak
 * local count, or a pin that is not of a local reference? Strong counts are no part of the answer.
 */
static bool is_held_weakly_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	binder_assert_held(&node->lock);
	return !bl_empty(&node->refs) || node->local_weak ||
	       host_atomic_read(&node->pins) > node->local_pins;
}

/* Removes the node from the tree if nothing refers to it; true: it is to be freed. */
static bool remove_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	struct binder_proc *proc = node->proc;
	bool gone;

	binder_assert_held(&node->lock);
	if (is_held_weakly_nlocked(node) || node->local_strong || node->internal_strong)
		return false;
	if (!proc)
		return !host_atomic_read(&node->pins);
	if (node->has_strong || node->has_weak)
		return false;
	binder_lock(&proc->inner_lock);
	/* Until here it could be found in the tree. */
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

/* False: there is no owner that knows of a reference. */
static bool notify_owner_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	struct binder_proc *proc = node->proc;

	binder_assert_held(&node->lock);
	if (!proc || (!node->has_strong && !node->has_weak))
		return false;
	queue_for_owner_nlocked(node, proc);
	return true;
}

/* Removes the node if it is unused, or notifies the owner first; true: it is to be freed. */
static bool remove_if_unused_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	binder_assert_held(&node->lock);
	/* The C driver notifies the owner here whatever strong references there are. */
	if (is_held_weakly_nlocked(node) || notify_owner_nlocked(node))
		return false;
	return remove_nlocked(node);
}

bool binder_node_dec_nlocked(struct binder_node *node, enum binder_node_count which)
{
	bool strong = which != NODE_LOCAL_WEAK;
	u32 *count = &node->local_weak;

	binder_assert_held(&node->lock);
	if (strong)
		count = which == NODE_HANDLE_STRONG ? &node->internal_strong : &node->local_strong;
	if (*count)
		--*count;
	if (strong && (node->local_strong || node->internal_strong))
		return false;
	if (strong && notify_owner_nlocked(node))
		return false;
	return remove_if_unused_nlocked(node);
}

void binder_node_dec(struct binder_node *node, enum binder_node_count which)
{
	bool gone;

	binder_lock(&node->lock);
	gone = binder_node_dec_nlocked(node, which);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
}

bool binder_node_pin_dead(struct binder_node *node)
{
	bool alive;

	binder_lock(&node->lock);
	alive = is_held_weakly_nlocked(node) || node->local_strong || node->internal_strong ||
		host_atomic_read(&node->pins);
	if (alive)
		binder_node_pin(node);
	binder_unlock(&node->lock);
	return alive;
}

void binder_node_unpin(struct binder_node *node)
{
	bool gone;

	binder_lock(&node->lock);
	gone = host_atomic_add_return(&node->pins, -1) <= node->local_pins &&
	       remove_if_unused_nlocked(node);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
}

bool binder_node_is_owned_by(struct binder_node *node, const struct binder_proc *proc)
{
	bool owned;

	binder_lock(&node->lock);
	owned = node->proc == proc;
	binder_unlock(&node->lock);
	return owned;
}

void binder_node_set_manager(struct binder_node *node)
{
	binder_lock(&node->lock);
	node->is_manager = true;
	node->local_strong++;
	node->local_weak++;
	BINDER_WRITE_ONCE(node->has_strong, true);
	BINDER_WRITE_ONCE(node->has_weak, true);
	binder_unlock(&node->lock);
}

void binder_node_get_local(struct binder_node *node, bool strong)
{
	binder_lock(&node->lock);
	if (strong)
		node->local_strong++;
	else
		node->local_weak++;
	binder_node_pin(node);
	node->local_pins++;
	binder_unlock(&node->lock);
}

void binder_node_put_local(struct binder_node *node, bool strong)
{
	bool gone;

	binder_lock(&node->lock);
	host_atomic_add_return(&node->pins, -1);
	node->local_pins--;
	gone = binder_node_dec_nlocked(node, strong ? NODE_LOCAL_STRONG : NODE_LOCAL_WEAK);
	/* Where only buffers refer to it, the C driver queues it at the end of each. */
	if (!gone && !is_held_weakly_nlocked(node))
		notify_owner_nlocked(node);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
}

void binder_node_free(struct binder_node *node)
{
	binder_assert_unlocked();
	binder_assert_private(&node->lock);
	if (!node->proc) {
		binder_pi_mutex_lock(&binder_world.lock);
		bl_del(&node->dead_link);
		binder_pi_mutex_unlock(&binder_world.lock);
	}
	binder_lock_destroy(&node->lock);
	host_free(node);
	binder_stats_deleted(STAT_NODE);
}

void binder_node_begin_notify_ilocked(struct binder_node *node, struct binder_proc *owner)
{
	binder_assert_held(&owner->inner_lock);
	binder_node_pin(node);
}

u32 binder_node_reconcile(struct binder_node *node)
{
	bool strong, weak, gone = false;
	u32 notify = 0;

	binder_lock(&node->lock);
	strong = node->internal_strong || node->local_strong;
	/* One pin is the caller's own. */
	weak = strong || !bl_empty(&node->refs) || node->local_weak ||
	       host_atomic_read(&node->pins) > node->local_pins + 1;
	if (weak && !node->has_weak) {
		BINDER_WRITE_ONCE(node->has_weak, true);
		node->pending_weak = true;
		node->local_weak++;
		notify |= NODE_NOTIFY_INCREFS;
	}
	if (strong && !node->has_strong) {
		BINDER_WRITE_ONCE(node->has_strong, true);
		node->pending_strong = true;
		node->local_strong++;
		notify |= NODE_NOTIFY_ACQUIRE;
	}
	if (!strong && node->has_strong) {
		BINDER_WRITE_ONCE(node->has_strong, false);
		notify |= NODE_NOTIFY_RELEASE;
	}
	if (!weak && node->has_weak) {
		BINDER_WRITE_ONCE(node->has_weak, false);
		notify |= NODE_NOTIFY_DECREFS;
	}
	/* The owner is being notified, so the node need not be queued again. */
	gone = !host_atomic_add_return(&node->pins, -1) && remove_nlocked(node);
	binder_unlock(&node->lock);
	if (gone)
		binder_node_free(node);
	return notify;
}

void binder_node_done(struct binder_thread *thread, bool strong,
		      const struct binder_ptr_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	struct binder_node *node = binder_node_find(proc, arg->ptr);
	const char *command = strong ? "BC_ACQUIRE_DONE" : "BC_INCREFS_DONE";
	const char *mistake = NULL;
	bool *pending;
	u32 id;

	if (!node) {
		host_log(HOST_LOG_USER_ERROR, "%d:%d %s: unknown object", proc->pid,
			 thread->tid, command);
		return;
	}
	binder_lock(&node->lock);
	id = node->debug_id;
	pending = strong ? &node->pending_strong : &node->pending_weak;
	if (node->cookie != arg->cookie) {
		mistake = "wrong cookie";
	} else if (!*pending) {
		mistake = "not awaited";
	} else {
		*pending = false;
		/* It is pinned, so it is not freed here. */
		binder_node_dec_nlocked(node, strong ? NODE_LOCAL_STRONG : NODE_LOCAL_WEAK);
	}
	binder_unlock(&node->lock);
	binder_node_unpin(node);
	if (mistake)
		host_log(HOST_LOG_USER_ERROR, "%d:%d %s: %s for object %u", proc->pid,
			 thread->tid, command, mistake, id);
}
