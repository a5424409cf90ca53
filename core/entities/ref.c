// SPDX-License-Identifier: GPL-2.0
/*
 * A reference is in two trees of its process (by number, by node) and in a list of its
 * node. The outer lock guards the trees and the counts, the node's lock guards the list.
 * The outer lock comes first, so the node is updated while it is still held. A reference
 * that dies is removed under the locks and freed after them.
 *
 * Tested in: tests/drivers/conformance/ref_handle.c
 */
#include "entities/ref.h"

#include "common/cover.h"
#include "common/limits.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/thread.h"
#include "entities/world.h"

static int compare_desc(const void *key, const struct bt_node *node)
{
	u32 desc = *(const u32 *)key;
	u32 other = bt_entry(node, struct binder_ref, by_desc)->desc;

	return desc < other ? -1 : desc > other;
}

static int compare_descs(const struct bt_node *a, const struct bt_node *b)
{
	return compare_desc(&bt_entry(a, struct binder_ref, by_desc)->desc, b);
}

static int compare_target(const void *key, const struct bt_node *node)
{
	const struct binder_node *other = bt_entry(node, struct binder_ref, by_node)->node;

	return (const struct binder_node *)key < other ? -1 :
	       (const struct binder_node *)key > other;
}

static int compare_targets(const struct bt_node *a, const struct bt_node *b)
{
	return compare_target(bt_entry(a, struct binder_ref, by_node)->node, b);
}

struct binder_ref *binder_ref_find_olocked(struct binder_proc *proc, u32 desc, bool need_strong)
{
	struct bt_node *found;
	struct binder_ref *ref;

	binder_assert_held(&proc->outer_lock);
	found = bt_find(&proc->refs_by_desc, &desc, compare_desc);
	if (!found)
		return NULL;
	ref = bt_entry(found, struct binder_ref, by_desc);
	return need_strong && !ref->strong ? NULL : ref;
}

struct binder_ref *binder_ref_find_from_olocked(struct binder_proc *proc, u32 desc)
{
	struct bt_node *found;

	binder_assert_held(&proc->outer_lock);
	found = bt_lower_bound(&proc->refs_by_desc, &desc, compare_desc);
	return found ? bt_entry(found, struct binder_ref, by_desc) : NULL;
}

struct binder_node *binder_ref_get_node(struct binder_proc *proc, u32 desc, bool need_strong)
{
	struct binder_node *node = NULL;
	struct binder_ref *ref;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, desc, need_strong);
	if (ref) {
		node = ref->node;
		binder_node_pin(node);
	}
	binder_unlock(&proc->outer_lock);
	return node;
}

u32 binder_ref_debug_id(struct binder_proc *proc, u32 desc)
{
	struct binder_ref *ref;
	u32 id = 0;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, desc, false);
	if (ref)
		id = ref->debug_id;
	binder_unlock(&proc->outer_lock);
	return id;
}

/* A removed reference, to be freed without a lock. */
struct removed_ref {
	struct binder_ref *ref;
	struct binder_notice *death;
	struct binder_notice *freeze;
};

static void free_removed(struct removed_ref *r)
{
	struct binder_node *node;

	if (!r->ref)
		return;
	node = r->ref->node;
	binder_notice_free(r->death);
	binder_notice_free(r->freeze);
	host_free(r->ref);
	binder_stats_deleted(STAT_REF);
	binder_node_unpin(node);
}

/* Removes @notice from its list. */
static struct binder_notice *unlink_notice(struct binder_notice *notice)
{
	if (notice)
		bl_del(&notice->work.link);
	return notice;
}

/* Removes @ref from everything. Its node stays pinned until free_removed(). */
static void remove_olocked(struct binder_proc *proc, struct binder_ref *ref, struct removed_ref *r)
	REQUIRES(&proc->outer_lock)
{
	struct binder_node *node = ref->node;

	binder_assert_held(&proc->outer_lock);
	bt_erase(&proc->refs_by_desc, &ref->by_desc);
	bt_erase(&proc->refs_by_node, &ref->by_node);
	bm_release(&proc->descs, ref->desc);
	proc->nr_refs--;
	binder_lock(&node->lock);
	binder_node_pin(node);
	bl_del(&ref->node_link);
	if (ref->strong)
		binder_node_dec_nlocked(node, NODE_HANDLE_STRONG); /* pinned: it stays */
	r->ref = ref;
	binder_lock(&proc->inner_lock);
	r->death = unlink_notice(ref->death);
	r->freeze = unlink_notice(ref->freeze);
	binder_unlock(&proc->inner_lock);
	binder_unlock(&node->lock);
}

/*
 * Allocates a handle: 0 for the manager's node, else from 1 on. Drops the lock to grow the
 * bitmap. BM_NONE: no memory, or no handle left.
 */
static u32 alloc_desc_olocked(struct binder_proc *proc, bool manager) REQUIRES(&proc->outer_lock)
{
	u64 *words, *old;
	u32 desc, bits;

	binder_assert_held(&proc->outer_lock);
	for (;;) {
		if (proc->nr_refs >= BINDER_MAX_REFS)
			return BM_NONE;
		desc = bm_take(&proc->descs, manager ? 0 : 1);
		if (desc != BM_NONE)
			return desc;
		bits = bm_next_size(&proc->descs);
		binder_unlock(&proc->outer_lock);
		words = bits ? host_alloc(&proc->host, bm_words(bits) * sizeof(*words)) : NULL;
		binder_lock(&proc->outer_lock);
		if (!words)
			return BM_NONE;
		old = bm_grow(&proc->descs, words, bits);
		binder_unlock(&proc->outer_lock);
		host_free(old);
		binder_lock(&proc->outer_lock);
	}
}

static struct binder_ref *find_by_node_olocked(struct binder_proc *proc,
					       struct binder_node *node)
	REQUIRES(&proc->outer_lock)
{
	struct bt_node *found;

	binder_assert_held(&proc->outer_lock);
	found = bt_find(&proc->refs_by_node, node, compare_target);
	return found ? bt_entry(found, struct binder_ref, by_node) : NULL;
}

/* Handle 0 is for the manager as long as it lives. */
static bool is_live_manager(struct binder_node *node)
{
	bool manager;

	binder_lock(&node->lock);
	manager = node->is_manager && node->proc;
	binder_unlock(&node->lock);
	return manager;
}

void binder_ref_init(struct binder_ref *ref, struct binder_proc *proc)
{
	ref->proc = proc;
	bl_init(&ref->node_link);
	bt_init(&ref->by_desc);
	bt_init(&ref->by_node);
}

bool binder_ref_insert_olocked(struct binder_proc *proc, struct binder_ref *ref)
{
	binder_assert_held(&proc->outer_lock);
	if (bt_insert(&proc->refs_by_node, &ref->by_node, compare_targets))
		return false;
	bt_insert(&proc->refs_by_desc, &ref->by_desc, compare_descs);
	proc->nr_refs++;
	return true;
}

/*
 * Inserts @new, which is all zero, as the reference to @node, unless another thread has
 * inserted one while the lock was dropped. False: no handle left.
 */
static bool insert_olocked(struct binder_proc *proc, struct binder_ref *new,
			   struct binder_node *node) REQUIRES(&proc->outer_lock)
{
	u32 desc;

	binder_assert_held(&proc->outer_lock);
	desc = alloc_desc_olocked(proc, is_live_manager(node));
	if (desc == BM_NONE)
		return false;
	binder_ref_init(new, proc);
	new->desc = desc;
	new->node = node;
	if (!binder_ref_insert_olocked(proc, new)) {
		BINDER_COVER(REF_FOUND_GROWING);
		bm_release(&proc->descs, desc);
		return true;
	}
	new->debug_id = binder_next_id();
	binder_stats_created(STAT_REF);
	binder_lock(&node->lock);
	bl_add_tail(&node->refs, &new->node_link);
	binder_unlock(&node->lock);
	return true;
}

static int inc_olocked(struct binder_ref *ref, bool strong, struct binder_thread *notifier)
	REQUIRES(&ref->proc->outer_lock)
{
	u32 *count = strong ? &ref->strong : &ref->weak;
	int err = 0;

	binder_assert_held(&ref->proc->outer_lock);
	if (!*count)
		err = binder_node_inc_handle(ref->node, strong, notifier);
	if (!err)
		++*count;
	return err;
}

int binder_ref_inc_node(struct binder_proc *proc, struct binder_node *node, bool strong,
			struct binder_thread *notifier, u32 *desc)
{
	struct binder_ref *ref, *new = NULL;
	struct removed_ref removed = { NULL };
	int err = 0;

	binder_lock(&proc->outer_lock);
	ref = find_by_node_olocked(proc, node);
	if (!ref) {
		binder_unlock(&proc->outer_lock);
		new = host_alloc(&proc->host, sizeof(*new));
		if (!new)
			return -ENOMEM;
		binder_lock(&proc->outer_lock);
		ref = find_by_node_olocked(proc, node);
		if (ref)
			BINDER_COVER(REF_FOUND_MEANWHILE);
	}
	if (!ref) {
		if (!insert_olocked(proc, new, node))
			err = -ENOMEM;
		ref = find_by_node_olocked(proc, node);
		if (ref == new)
			new = NULL;
	}
	if (ref && !err) {
		binder_assert_held(&ref->proc->outer_lock);
		err = inc_olocked(ref, strong, notifier);
		*desc = ref->desc;
		if (err && !ref->strong && !ref->weak) {
			BINDER_COVER(REF_UNDONE);
			remove_olocked(proc, ref, &removed);
		}
	}
	binder_unlock(&proc->outer_lock);
	host_free(new);
	free_removed(&removed);
	return err;
}

/* Drops a count; with the last one the reference is removed. */
static int dec_olocked(struct binder_proc *proc, struct binder_ref *ref, bool strong,
		       struct removed_ref *removed) REQUIRES(&proc->outer_lock)
{
	u32 *count = strong ? &ref->strong : &ref->weak;

	binder_assert_held(&proc->outer_lock);
	if (!*count)
		return -EINVAL;
	--*count;
	if (!ref->strong && !ref->weak) {
		ref->strong = strong; /* dropped with the reference */
		remove_olocked(proc, ref, removed);
	} else if (strong && !ref->strong) {
		binder_node_dec(ref->node, NODE_HANDLE_STRONG);
	}
	return 0;
}

static bool is_inc(enum binder_ref_change change)
{
	return change == REF_INCREFS || change == REF_ACQUIRE;
}

static bool is_strong(enum binder_ref_change change)
{
	return change == REF_ACQUIRE || change == REF_RELEASE;
}

int binder_ref_update(struct binder_proc *proc, u32 desc, enum binder_ref_change change)
{
	struct removed_ref removed = { NULL };
	struct binder_ref *ref;
	int err = -EINVAL;

	binder_lock(&proc->outer_lock);
	/* A weak-only handle cannot be upgraded. */
	ref = binder_ref_find_olocked(proc, desc, is_strong(change));
	if (ref && is_inc(change)) {
		binder_assert_held(&ref->proc->outer_lock);
		err = inc_olocked(ref, is_strong(change), NULL);
	} else if (ref) {
		err = dec_olocked(proc, ref, is_strong(change), &removed);
	}
	binder_unlock(&proc->outer_lock);
	free_removed(&removed);
	return err;
}

/*
 * Handle 0 names the context manager before the process has a reference to it. -ELOOP: the
 * manager is the process itself; -EINVAL: there is no manager.
 */
static int inc_manager(struct binder_proc *proc, bool strong)
{
	struct binder_node *node = binder_context_get_manager(proc->context);
	int err = -ELOOP;
	u32 desc;

	if (!node)
		return -EINVAL;
	if (!binder_node_is_owned_by(node, proc))
		err = binder_ref_inc_node(proc, node, strong, NULL, &desc);
	binder_node_unpin(node);
	return err;
}

int binder_ref_command(struct binder_thread *thread, u32 desc, enum binder_ref_change change)
{
	static const char *const words[] = {
		[REF_INCREFS] = "increment weak",
		[REF_ACQUIRE] = "increment strong",
		[REF_RELEASE] = "decrement strong",
		[REF_DECREFS] = "decrement weak",
	};
	struct binder_proc *proc = thread->proc;
	int err = -EINVAL;

	if (is_inc(change) && !desc)
		err = inc_manager(proc, is_strong(change));
	if (err == -ELOOP) {
		host_log(HOST_LOG_USER_ERROR, "%d:%d context manager acquires a handle to itself",
			 proc->pid, thread->tid);
		return -EINVAL;
	}
	if (err)
		err = binder_ref_update(proc, desc, change);
	if (err)
		host_log(HOST_LOG_USER_ERROR, "%d:%d %s of handle %u failed (%d)", proc->pid,
			 thread->tid, words[change], desc, err);
	return 0;
}

void binder_ref_release_all(struct binder_proc *proc)
{
	for (;;) {
		struct removed_ref removed = { NULL };
		struct bt_node *first;

		binder_lock(&proc->outer_lock);
		first = bt_first(&proc->refs_by_desc);
		if (first)
			remove_olocked(proc, bt_entry(first, struct binder_ref, by_desc), &removed);
		binder_unlock(&proc->outer_lock);
		if (!removed.ref)
			return;
		free_removed(&removed);
	}
}
