// SPDX-License-Identifier: GPL-2.0
/*
 * A ref stands in two trees of its process (by number, by node) and in the list
 * of its node.  The trees belong to the outer lock, the list to the node's lock,
 * and the outer lock comes first: so a ref is found and its counts change under
 * the outer lock, and the node hears of it while that is still held.  What dies
 * is taken out under the locks and freed after them.
 */
#include "things/ref.h"

#include "things/context.h"
#include "notices/death.h"
#include "notices/freeze.h"
#include "common/limits.h"
#include "common/cover.h"
#include "things/node.h"
#include "things/proc.h"
#include "things/thread.h"

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

struct binder_ref *binder_ref_find_olocked(struct binder_proc *proc, u32 desc,
					   bool need_strong) NO_TSA
{
	struct bt_node *found = bt_find(&proc->refs_by_desc, &desc, compare_desc);
	struct binder_ref *ref;

	if (!found)
		return NULL;
	ref = bt_entry(found, struct binder_ref, by_desc);
	return need_strong && !ref->strong ? NULL : ref;
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

/* What a ref leaves behind when it is taken apart, to be freed without locks. */
struct removed_ref {
	struct binder_ref *ref;
	struct binder_death *death;
	struct binder_freeze *freeze;
};

static void free_removed(struct removed_ref *r)
{
	struct binder_node *node;

	if (!r->ref)
		return;
	node = r->ref->node;
	if (r->death)
		binder_death_free(r->death);
	if (r->freeze)
		binder_freeze_free(r->freeze);
	host_free(r->ref);
	binder_stats_deleted(STAT_REF);
	binder_node_unpin(node);
}

/* Takes @ref out of everything.  Its node stays pinned until free_removed(). */
static void remove_ref_olocked(struct binder_ref *ref, struct removed_ref *r) NO_TSA
{
	struct binder_proc *proc = ref->proc;
	struct binder_node *node = ref->node;

	bt_erase(&proc->refs_by_desc, &ref->by_desc);
	bt_erase(&proc->refs_by_node, &ref->by_node);
	bm_release(&proc->descs, ref->desc);
	proc->nr_refs--;
	binder_lock(&node->lock);
	binder_node_pin(node);
	bl_del(&ref->node_link);
	if (ref->strong)
		binder_node_dec_nlocked(node, true, true); /* pinned: it cannot go */
	r->ref = ref;
	binder_lock(&proc->inner_lock);
	if (ref->death) {
		bl_del(&ref->death->work.link);
		r->death = ref->death;
	}
	if (ref->freeze) {
		bl_del(&ref->freeze->work.link);
		r->freeze = ref->freeze;
	}
	binder_unlock(&proc->inner_lock);
	binder_unlock(&node->lock);
}

/* 0 is the manager's; everybody else starts at 1.  Makes room as needed; the
 * lock is dropped meanwhile.  BM_NONE: no memory or no more handles. */
static u32 take_desc_olocked(struct binder_proc *proc, bool manager)
	REQUIRES(&proc->outer_lock) NO_TSA
{
	u64 *words, *old;
	u32 desc, bits;

	for (;;) {
		if (proc->nr_refs >= BINDER_MAX_REFS)
			return BM_NONE;
		desc = bm_take(&proc->descs, manager ? 0 : 1);
		if (desc != BM_NONE)
			return desc;
		bits = bm_next_size(&proc->descs);
		binder_unlock(&proc->outer_lock);
		words = bits ? host_alloc(bm_words(bits) * sizeof(*words)) : NULL;
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
					       struct binder_node *node) NO_TSA
{
	struct bt_node *found = bt_find(&proc->refs_by_node, node, compare_target);

	return found ? bt_entry(found, struct binder_ref, by_node) : NULL;
}

/* Puts @new, which is all zero, in place for @node.  False: no handle left. */
static bool insert_ref_olocked(struct binder_proc *proc, struct binder_ref *new,
			      struct binder_node *node) NO_TSA
{
	bool manager;
	u32 desc;

	binder_lock(&node->lock);
	manager = node->is_manager && node->proc; /* the dead are manager no more */
	binder_unlock(&node->lock);
	desc = take_desc_olocked(proc, manager);
	if (desc == BM_NONE)
		return false;
	/* The lock may have been dropped: somebody may have been quicker. */
	if (find_by_node_olocked(proc, node)) {
		BINDER_COVER(REF_FOUND_GROWING);
		bm_release(&proc->descs, desc);
		return true;
	}
	new->debug_id = binder_next_id();
	new->desc = desc;
	new->proc = proc;
	new->node = node;
	bl_init(&new->node_link);
	bt_init(&new->by_desc);
	bt_init(&new->by_node);
	bt_insert(&proc->refs_by_desc, &new->by_desc, compare_descs);
	bt_insert(&proc->refs_by_node, &new->by_node, compare_targets);
	proc->nr_refs++;
	binder_stats_created(STAT_REF);
	binder_lock(&node->lock);
	bl_add_tail(&node->refs, &new->node_link);
	binder_unlock(&node->lock);
	return true;
}

static int inc_olocked(struct binder_ref *ref, bool strong, struct binder_thread *notifier)
{
	u32 *count = strong ? &ref->strong : &ref->weak;
	int err = 0;

	if (!*count)
		err = binder_node_inc(ref->node, strong, true, notifier);
	if (!err)
		++*count;
	return err;
}

int binder_ref_inc_node(struct binder_proc *proc, struct binder_node *node, bool strong,
			struct binder_thread *notifier, u32 *desc)
{
	struct binder_ref *ref, *new = NULL;
	struct removed_ref remains = { NULL };
	int err = 0;

	binder_lock(&proc->outer_lock);
	ref = find_by_node_olocked(proc, node);
	if (!ref) {
		binder_unlock(&proc->outer_lock);
		new = host_alloc(sizeof(*new));
		if (!new)
			return -ENOMEM;
		binder_lock(&proc->outer_lock);
		ref = find_by_node_olocked(proc, node);
		if (ref)
			BINDER_COVER(REF_FOUND_MEANWHILE);
	}
	if (!ref) {
		if (!insert_ref_olocked(proc, new, node))
			err = -ENOMEM;
		ref = find_by_node_olocked(proc, node);
		if (ref == new)
			new = NULL;
	}
	if (ref && !err) {
		err = inc_olocked(ref, strong, notifier);
		*desc = ref->desc;
		if (err && !ref->strong && !ref->weak) {
			BINDER_COVER(REF_UNDONE);
			remove_ref_olocked(ref, &remains);
		}
	}
	binder_unlock(&proc->outer_lock);
	host_free(new);
	free_removed(&remains);
	return err;
}

int binder_ref_update(struct binder_proc *proc, u32 desc, bool inc, bool strong)
{
	struct removed_ref remains = { NULL };
	struct binder_ref *ref;
	int err = -EINVAL;
	u32 *count;

	binder_lock(&proc->outer_lock);
	/* Who holds it weakly alone cannot come by a strong count. */
	ref = binder_ref_find_olocked(proc, desc, strong);
	if (ref && inc) {
		err = inc_olocked(ref, strong, NULL);
	} else if (ref) {
		count = strong ? &ref->strong : &ref->weak;
		err = *count ? 0 : -EINVAL;
		if (!err && !--*count && strong && ref->weak)
			binder_node_dec(ref->node, true, true);
		else if (!err && !ref->strong && !ref->weak) {
			ref->strong = strong; /* its last count goes with it */
			remove_ref_olocked(ref, &remains);
		}
	}
	binder_unlock(&proc->outer_lock);
	free_removed(&remains);
	return err;
}

int binder_ref_command(struct binder_proc *proc, struct binder_thread *thread, u32 desc, bool inc,
		       bool strong)
{
	struct binder_node *manager;
	int err = -EINVAL;
	u32 got = desc;

	if (inc && !desc) {
		manager = binder_context_get_manager(proc->context);
		if (manager) {
			bool own;

			binder_lock(&manager->lock);
			own = manager->proc == proc;
			binder_unlock(&manager->lock);
			if (!own)
				err = binder_ref_inc_node(proc, manager, strong, NULL, &got);
			binder_node_unpin(manager);
			if (own) {
				host_log(HOST_LOG_USER_ERROR,
					 "%d:%d context manager takes a handle to itself",
					 proc->pid, thread->tid);
				return -EINVAL;
			}
		}
	}
	if (err)
		err = binder_ref_update(proc, desc, inc, strong);
	if (err)
		host_log(HOST_LOG_USER_ERROR, "%d:%d %s count of handle %u cannot be %s (%d)",
			 proc->pid, thread->tid, strong ? "strong" : "weak", desc,
			 inc ? "taken" : "dropped", err);
	return 0;
}

void binder_ref_release_all(struct binder_proc *proc)
{
	for (;;) {
		struct removed_ref remains = { NULL };
		struct bt_node *first;

		binder_lock(&proc->outer_lock);
		first = bt_first(&proc->refs_by_desc);
		if (first)
			remove_ref_olocked(bt_entry(first, struct binder_ref, by_desc), &remains);
		binder_unlock(&proc->outer_lock);
		if (!remains.ref)
			return;
		free_removed(&remains);
	}
}
