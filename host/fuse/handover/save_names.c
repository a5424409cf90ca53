// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the tree: entries, numbered in the order of their records, and the inodes that the kernel
 * knows. A device that was unlinked has no name in the tree any more, but may have inodes.
 */
#include "handover/private.h"
#include "handover/saved.h"
#include "names/layout.h"
#include "names/tree.h"

#include <stdlib.h>
#include <string.h>

u32 save_number_of(const struct save *save, const struct entry *entry)
{
	return entry->number <= save->nr_entries && entry->number &&
	       save->entries[entry->number - 1] == entry ? entry->number : 0;
}

static bool add_entry(struct save *save, struct entry *entry)
{
	if (save->nr_entries == save->room_entries) {
		u32 room = 2 * save->room_entries + 64;
		struct entry **entries = realloc(save->entries, room * sizeof(*entries));

		save->records.failed |= !entries;
		if (!entries)
			return false;
		save->entries = entries;
		save->room_entries = room;
	}
	save->entries[save->nr_entries++] = entry;
	entry->number = save->nr_entries;
	return true;
}

static void save_entry(struct save *save, struct entry *entry, bool unlinked)
{
	struct saved_entry saved = {
		.ino = entry->ino,
		.parent = entry->parent ? save_number_of(save, entry->parent) : 0,
		.kind = entry->kind,
		.mode = entry->mode,
		.uid = entry->uid,
		.gid = entry->gid,
		.shares = entry->shares,
		.is_unlinked = unlinked,
	};

	if (add_entry(save, entry))
		record_put(&save->records, RECORD_ENTRY, &saved, sizeof(saved), entry->name,
			   strlen(entry->name));
}

static void see_entry(struct entry *entry, void *save)
{
	save_entry(save, entry, false);
}

static void see_inode(const struct inode *inode, void *arg)
{
	struct save *save = arg;
	struct saved_inode saved = {
		.id = inode->id,
		.lookups = inode->lookups,
		.looked_ns = inode->opens.looked_ns,
		.looked_by = inode->opens.looked_by,
		.repeated = inode->opens.repeated,
		.opened = inode->opens.opened,
		.direct = inode->opens.direct,
		.bound = inode->opens.bound,
		.nr_opens = inode->opens.nr_opens,
		.uid = inode->uid,
		.charged = inode->charged,
	};

	/* a text that was removed is gone with the hand-over */
	if (!save_number_of(save, inode->entry) && inode->entry->kind == ENTRY_DEVICE)
		save_entry(save, inode->entry, true);
	saved.entry = save_number_of(save, inode->entry);
	if (saved.entry)
		record_put(&save->records, RECORD_INODE, &saved, sizeof(saved), NULL, 0);
}

void save_names(struct save *save)
{
	tree_visit(see_entry, see_inode, save);
}
