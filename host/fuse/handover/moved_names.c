// SPDX-License-Identifier: GPL-2.0
/*
 * The tree: entries, numbered in the order of their records, and the inodes that the kernel knows.
 * A device that was unlinked has no name in the tree any more, but may have inodes.
 *
 * What every version has (directories, texts) exists already in the process that takes over; its
 * entries get the modes and owners that clients gave them. Devices and the reports of processes are
 * made.
 */
#include "handover/moved.h"
#include "names/layout.h"
#include "names/tree.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

/* What the record of an entry has besides it. */
struct entry_place {
	u32 parent;		/* number of its directory; 0: the root's */
	u32 is_unlinked;
};

/* The name follows. */
static const struct record_field entry_fields[] = {
	RECORD_64(0, struct entry, ino),
	RECORD_32(1, struct entry_place, parent),
	RECORD_32(0, struct entry, kind),
	RECORD_32(0, struct entry, mode),
	RECORD_32(0, struct entry, uid),
	RECORD_32(0, struct entry, gid),
	RECORD_32(0, struct entry, shares),
	RECORD_32(1, struct entry_place, is_unlinked),
	RECORD_UNUSED,
};
static const struct record_layout entry_layout = RECORD_LAYOUT(entry_fields);

/* What the record of an inode has besides it: the number of its entry. */
struct inode_place {
	u32 entry;
};

static const struct record_field inode_fields[] = {
	RECORD_64(0, struct inode, id),
	RECORD_64(0, struct inode, lookups),
	RECORD_64(0, struct inode, opens.looked_ns),
	RECORD_32(1, struct inode_place, entry),
	RECORD_32(0, struct inode, opens.looked_by),
	RECORD_32(0, struct inode, opens.repeated),
	RECORD_32(0, struct inode, opens.opened),
	RECORD_32(0, struct inode, opens.direct),
	RECORD_32(0, struct inode, opens.bound),
	RECORD_32(0, struct inode, opens.nr_opens),
	RECORD_32(0, struct inode, uid),
	RECORD_32(0, struct inode, charged),
	RECORD_UNUSED,
};
static const struct record_layout inode_layout = RECORD_LAYOUT(inode_fields);

/* ---- writing ---- */

static u32 nr_saved(const struct save *save)
{
	return (u32)(save->entries.size / sizeof(struct entry *));
}

u32 save_number_of(const struct save *save, const struct entry *entry)
{
	struct entry *const *entries = (struct entry *const *)save->entries.bytes;

	return entry->number <= nr_saved(save) && entry->number &&
	       entries[entry->number - 1] == entry ? entry->number : 0;
}

static void save_entry(struct save *save, struct entry *entry, bool is_unlinked)
{
	const struct entry_place place = {
		entry->parent ? save_number_of(save, entry->parent) : 0, is_unlinked };

	if (record_put_bytes(&save->entries, &entry, sizeof(entry)))
		return;
	entry->number = nr_saved(save);
	record_begin(&save->records, RECORD_ENTRY, &entry_layout,
		     (const void *[]){ entry, &place });
	record_put_bytes(&save->records, entry->name, strlen(entry->name));
	record_end(&save->records);
}

static void see_entry(struct entry *entry, void *save)
{
	save_entry(save, entry, false);
}

static void see_inode(const struct inode *inode, void *arg)
{
	struct save *save = arg;
	struct inode_place place;

	/* a text that was removed is gone with the hand-over */
	if (!save_number_of(save, inode->entry) && inode->entry->kind == ENTRY_DEVICE)
		save_entry(save, inode->entry, true);
	place.entry = save_number_of(save, inode->entry);
	if (!place.entry)
		return;
	record_begin(&save->records, RECORD_INODE, &inode_layout,
		     (const void *[]){ inode, &place });
	record_end(&save->records);
}

void save_names(struct save *save)
{
	tree_visit(see_entry, see_inode, save);
}

/* The number of the entry of @context; asked while the state is restored, too. */
u64 host_state_context_id(const struct binder_context *context)
{
	const struct handover *self = daemon_self->handover;
	struct entry **entries = self->save ? (struct entry **)self->save->entries.bytes
					    : self->restore->entries;
	u32 nr = self->save ? nr_saved(self->save) : self->restore->nr_entries;

	for (u32 i = 0; i < nr; i++)
		if (entries[i] && entries[i]->kind == ENTRY_DEVICE && entries[i]->device == context)
			return i + 1;
	return 0;
}

/* ---- restoring ---- */

struct entry *restore_find_entry(const struct restore *restore, u32 number)
{
	return number && number <= restore->nr_entries ? restore->entries[number - 1] : NULL;
}

/* The entry that this version has, too; NULL: it has not. */
static struct entry *adopt_entry(struct entry *dir, const struct entry *like)
{
	struct entry *entry = dir ? tree_child(dir, like->name) : tree_root();

	if (!entry || entry->kind != like->kind)
		return NULL;
	entry->mode = like->mode;
	entry->uid = like->uid;
	entry->gid = like->gid;
	return entry;
}

static struct entry *make_entry(struct restore *restore, u32 dir, const struct entry *like,
				bool is_unlinked)
{
	struct entry *entry = tree_restore(restore_find_entry(restore, dir), like, is_unlinked);

	return entry && layout_restore_entry(entry) ? entry : NULL;
}

bool restore_entry(struct restore *restore, const struct record *record)
{
	char name[256] = "";
	struct entry like = { .name = name };
	struct entry_place place;
	struct entry *dir;
	struct entry *entry = NULL;
	bool is_made;

	record_get_fields(&restore->records, record, &entry_layout, (void *[]){ &like, &place });
	if (record->size >= sizeof(name) || place.parent > restore->nr_entries)
		return false;
	memcpy(name, record->bytes, record->size);
	dir = restore_find_entry(restore, place.parent);
	is_made = like.kind == ENTRY_DEVICE || (dir && layout_is_logs_proc(dir));
	if ((dir || !place.parent) && !place.is_unlinked)
		entry = adopt_entry(dir, &like);
	if (!entry && is_made && dir)
		entry = make_entry(restore, place.parent, &like, place.is_unlinked);
	restore->entries[restore->nr_entries++] = entry;
	return entry || !is_made;
}

bool restore_inode(struct restore *restore, const struct record *record)
{
	struct inode_place place;
	struct inode like = { 0 };
	struct entry *entry;

	record_get_fields(&restore->records, record, &inode_layout, (void *[]){ &like, &place });
	entry = restore_find_entry(restore, place.entry);
	return !entry || tree_restore_inode(entry, &like);
}

struct binder_context *host_state_context_restore(u64 id, const char *name)
{
	struct entry *entry = restore_find_entry(daemon_self->handover->restore, (u32)id);

	(void)name;
	return entry && entry->kind == ENTRY_DEVICE ? entry->device : NULL;
}
