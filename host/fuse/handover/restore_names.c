// SPDX-License-Identifier: GPL-2.0
/*
 * Restores the tree. What every version has (directories, texts) exists already; its entries get
 * the modes and owners that clients gave them. Devices and the reports of processes are made.
 */
#include "handover/private.h"
#include "handover/saved.h"
#include "names/layout.h"
#include "names/tree.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

struct entry *restore_find_entry(const struct restore *restore, u32 number)
{
	return number && number <= restore->nr_entries ? restore->entries[number - 1] : NULL;
}

/* One that this version has, too; NULL: it has not. */
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
	struct entry **last = &restore->last[dir - 1];
	struct entry *parent = restore_find_entry(restore, dir);
	struct entry *entry;

	/* behind those that exist already */
	if (!*last)
		for (*last = parent->child; *last && (*last)->next; )
			*last = (*last)->next;
	entry = tree_restore(parent, like, last, is_unlinked);
	return entry && layout_restore_entry(entry) ? entry : NULL;
}

/* False: no memory, or damaged. */
bool restore_entry(struct restore *restore, const struct record *record)
{
	char name[256] = "";
	struct saved_entry saved;
	struct entry like;
	struct entry *dir;
	struct entry *entry = NULL;

	record_get(record, &saved, sizeof(saved));
	if (record->size >= sizeof(name) || saved.parent > restore->nr_entries)
		return false;
	memcpy(name, record->bytes, record->size);
	like = (struct entry){ .name = name, .ino = saved.ino, .kind = saved.kind,
			       .mode = saved.mode, .uid = saved.uid, .gid = saved.gid,
			       .shares = saved.shares };
	dir = restore_find_entry(restore, saved.parent);
	if (dir && saved.kind == ENTRY_DEVICE && !saved.is_unlinked)
		entry = adopt_entry(dir, &like);
	if (!entry && (saved.kind == ENTRY_DEVICE || (dir && layout_is_logs_proc(dir)))) {
		entry = dir ? make_entry(restore, saved.parent, &like, saved.is_unlinked) : NULL;
		if (!entry)
			return false;
	} else if (!entry && (dir || !saved.parent)) {
		entry = adopt_entry(dir, &like);
	}
	restore->entries[restore->nr_entries++] = entry;
	return true;
}

bool restore_inode(struct restore *restore, const struct record *record)
{
	struct saved_inode saved;
	struct inode like;
	struct entry *entry;

	record_get(record, &saved, sizeof(saved));
	entry = restore_find_entry(restore, saved.entry);
	like = (struct inode){ .id = saved.id, .lookups = saved.lookups, .uid = saved.uid,
			       .charged = saved.charged, .opens = {
		.looked_by = saved.looked_by, .looked_ns = saved.looked_ns,
		.repeated = saved.repeated, .opened = saved.opened, .direct = saved.direct,
		.bound = saved.bound, .nr_opens = saved.nr_opens,
	} };
	return !entry || tree_restore_inode(entry, &like);
}

struct binder_context *host_state_context_restore(u64 id, const char *name)
{
	struct entry *entry = restore_find_entry(daemon_self->handover->restore, (u32)id);

	(void)name;
	return entry && entry->kind == ENTRY_DEVICE ? entry->device : NULL;
}
