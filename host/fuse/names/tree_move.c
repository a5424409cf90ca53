// SPDX-License-Identifier: GPL-2.0
/*
 * Handing the tree over: the predecessor visits what it has while all threads rest, the successor
 * adds it to its own before it has any.
 */
#include "names/tree.h"

#include "base/daemon_state.h"
#include "clients/users.h"
#include "session/handles.h"

static void visit_below(struct entry *dir, void (*see)(struct entry *entry, void *arg), void *arg)
{
	for (struct entry *entry = dir->child; entry; entry = entry->next) {
		see(entry, arg);
		visit_below(entry, see, arg);
	}
}

void tree_visit(void (*see_entry)(struct entry *entry, void *arg),
		void (*see_inode)(const struct inode *inode, void *arg), void *arg)
{
	struct tree *tree = daemon_self->tree;

	see_entry(&tree->root, arg);
	visit_below(&tree->root, see_entry, arg);
	for (size_t i = 0; i < TREE_BUCKETS; i++)
		for (struct inode *inode = tree->buckets[i]; inode; inode = inode->next)
			see_inode(inode, arg);
}

time_t tree_start_time(void)
{
	return daemon_self->tree->start_time;
}

void tree_set_start_time(time_t time)
{
	daemon_self->tree->start_time = time;
}

struct entry *tree_restore(struct entry *dir, const struct entry *like, bool unlinked)
{
	struct entry *entry = tree_new_entry(dir, like->name, like->kind, like->mode);

	if (!entry)
		return NULL;
	entry->uid = like->uid;
	entry->gid = like->gid;
	entry->ino = like->ino;
	entry->shares = like->shares;
	if (nodeid_device(like->ino) > daemon_self->tree->last_device)
		daemon_self->tree->last_device = nodeid_device(like->ino);
	if (unlinked)
		entry->refs = 0;	/* that of an inode will follow */
	else
		directory_add(entry);
	return entry;
}

bool tree_restore_inode(struct entry *entry, const struct inode *like)
{
	struct inode *inode = tree_find_inode(like->id);

	if (!inode)
		inode = tree_add_inode(entry, like->id);
	if (!inode)
		return false;
	inode->lookups = like->lookups;
	inode->opens = like->opens;
	inode->uid = like->uid;
	inode->charged = like->charged;
	if (inode->charged)
		user_charges_add_always(inode->uid, USER_INODES);
	if (tree_is_shared(entry)) {
		inode->next_shared = entry->shared;
		entry->shared = inode;
	}
	return true;
}
