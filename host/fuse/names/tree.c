// SPDX-License-Identifier: GPL-2.0
/*
 * The directory tree at the mountpoint.
 *
 * One mutex guards all entries and inodes: transactions do not use them. An inode exists until the
 * kernel has dropped all its lookups; an entry exists while it is in the tree, has inodes, or is
 * referenced by tree_find().
 */
#include "names/tree.h"

#include "base/daemon_state.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "clients/users.h"
#include "memory/user_account.h"
#include "memory/text.h"
#include "session/handles.h"
#include "session/persistent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/*
 * The size of a device file in stat(2): a mapping of the page cache must lie within the file, and
 * no buffer is longer than 4 MiB.
 */
#define DEVICE_SIZE ((uint64_t)4 << 20)

static const mode_t kind_modes[] = {
	[ENTRY_DIR] = S_IFDIR, [ENTRY_TEXT] = S_IFREG, [ENTRY_EVENTS] = S_IFREG,
	[ENTRY_CONTROL] = S_IFREG, [ENTRY_DEVICE] = S_IFREG,
};

struct inode *tree_find_inode(uint64_t id)
{
	struct inode *inode = daemon_self->tree->buckets[id % TREE_BUCKETS];

	while (inode && inode->id != id)
		inode = inode->next;
	return inode;
}

struct inode *tree_add_inode(struct entry *entry, uint64_t id)
{
	struct inode *inode = calloc(1, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->entry = entry;
	inode->id = id;
	inode->next = daemon_self->tree->buckets[id % TREE_BUCKETS];
	daemon_self->tree->buckets[id % TREE_BUCKETS] = inode;
	entry->refs++;
	return inode;
}

/* Adds an inode that is charged to the user. Returns 0, -ENFILE, -ENOMEM. */
static int add_charged_inode(struct entry *entry, uint64_t id, uid_t uid, struct inode **inode)
{
	if (!user_charges_add(uid, USER_INODES))
		return -ENFILE;
	*inode = tree_add_inode(entry, id);
	if (!*inode) {
		user_charges_remove(uid, USER_INODES);
		return -ENOMEM;
	}
	(*inode)->charged = true;
	(*inode)->uid = uid;
	return 0;
}

static void unlink_shared(struct inode *inode)
{
	struct inode **slot = &inode->entry->shared;

	while (*slot && *slot != inode)
		slot = &(*slot)->next_shared;
	if (*slot)
		*slot = inode->next_shared;
}

/* The entry below @dir that has the nodeid @ino from each server; NULL: none. */
static struct entry *find_fixed(struct entry *dir, uint64_t ino)
{
	struct entry *found = NULL;

	for (struct entry *entry = dir->child; entry && !found; entry = entry->next)
		found = entry->ino == ino ? entry : find_fixed(entry, ino);
	return found;
}

/*
 * The kernel may know an inode from a server that has crashed, which a bind mount or a working
 * directory keeps.
 */
static struct inode *find_or_adopt_inode(uint64_t id)
{
	struct inode *inode = tree_find_inode(id);
	struct entry *entry;

	if (inode || generation_of(id) == handles_generation())
		return inode;
	entry = nodeid_device(id) ? directory_device(nodeid_device(id))
				  : find_fixed(&daemon_self->tree->root, id);
	inode = entry ? tree_add_inode(entry, id) : NULL;
	if (inode)
		inode->lookups = 1;
	return inode;
}

static uint64_t new_nodeid(unsigned int device)
{
	uint64_t id;

	/* the counter begins again after some weeks of lookups without a pause */
	do {
		id = nodeid_make(handles_generation(), device, ++daemon_self->tree->last_number);
	} while (tree_find_inode(id));
	return id;
}

/*
 * Devices are kept as long as they have a name; directories and texts once their attributes have
 * changed.
 */
static void persist_entry(struct entry *entry)
{
	struct persistent_name persistent = {
		.ino = entry->ino, .mode = entry->mode, .uid = entry->uid, .gid = entry->gid,
	};

	if (entry->kind == ENTRY_DEVICE)
		snprintf(persistent.name, sizeof(persistent.name), "%s", entry->name);
	persistent_put_name(&entry->persistent_slot, &persistent);
}

static bool is_persistent(const struct entry *entry)
{
	if (entry->kind == ENTRY_DEVICE)
		return entry->persistent_slot;
	return !generation_of(entry->ino);
}

static void put_entry(struct entry *entry)
{
	if (--entry->refs)
		return;
	if (entry->release)
		entry->release(entry);
	free(entry->name);
	free(entry);
}

void tree_init(uid_t uid, gid_t gid)
{
	struct tree *tree = daemon_part(tree);

	pthread_mutex_init(&tree->lock, NULL);
	tree->start_time = time(NULL);
	tree->root = (struct entry){ .kind = ENTRY_DIR, .mode = 0755, .uid = uid, .gid = gid,
				     .ino = FUSE_ROOT_ID, .refs = 1, .fixed = true,
				     .name = (char *)"" };
	if (!tree_add_inode(&tree->root, FUSE_ROOT_ID)) {
		log_error("out of memory");
		exit(1);
	}
}

struct entry *tree_root(void)
{
	return &daemon_self->tree->root;
}

struct entry *tree_new_entry(struct entry *dir, const char *name, enum entry_kind kind,
			       mode_t mode)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry)
		entry->name = strdup(name);
	if (!entry || !entry->name) {
		free(entry);
		return NULL;
	}
	entry->parent = dir;
	entry->kind = kind;
	entry->mode = mode;
	entry->uid = tree_root()->uid;
	entry->gid = tree_root()->gid;
	entry->refs = 1;
	entry->fixed = kind != ENTRY_DEVICE;
	return entry;
}

static bool number_device(struct entry *entry)
{
	struct tree *tree = daemon_self->tree;

	for (unsigned int tries = 0; tries < NODEID_DEVICES_MAX; tries++) {
		tree->last_device = tree->last_device % NODEID_DEVICES_MAX + 1;
		if (directory_device(tree->last_device))
			continue;
		entry->ino = nodeid_make(0, tree->last_device, 0);
		return true;
	}
	return false;
}

/* False: all numbers of devices are in use. */
static bool number_entry(struct entry *entry, bool share)
{
	if (entry->kind == ENTRY_DEVICE)
		return number_device(entry);
	entry->ino = share ? new_nodeid(0) : nodeid_of_name(entry->parent->ino, entry->name);
	return true;
}

/* @entry may be NULL: no memory. */
static int tree_add_entry(struct entry *dir, struct entry *entry, bool share,
			  void (*fill)(struct entry *entry, void *arg), void *arg)
{
	struct entry *found;
	int error = 0;

	if (!entry)
		return -ENOMEM;
	pthread_mutex_lock(&daemon_self->tree->lock);
	found = directory_find(dir, entry->name);
	if (!found && !entry->ino && !number_entry(entry, share)) {
		error = -ENOSPC;
	} else if (!found) {
		if (fill)
			fill(entry, arg);
		if (entry->kind == ENTRY_DEVICE && !entry->persistent_slot)
			persist_entry(entry);
		directory_add(entry);
		found = entry;
		entry = NULL;
	} else if (!share) {
		error = -EEXIST;
	}
	if (found)
		found->shares++;
	pthread_mutex_unlock(&daemon_self->tree->lock);
	if (entry) {
		free(entry->name);
		free(entry);
	}
	return error;
}

int tree_add(struct entry *dir, const char *name, enum entry_kind kind, mode_t mode,
	     void (*fill)(struct entry *entry, void *arg), void *arg)
{
	return tree_add_entry(dir, tree_new_entry(dir, name, kind, mode), false, fill, arg);
}

int tree_restore_device(const struct persistent_name *persistent, uint32_t slot,
			void (*fill)(struct entry *entry, void *arg), void *arg)
{
	struct entry *entry =
		tree_new_entry(tree_root(), persistent->name, ENTRY_DEVICE, persistent->mode);

	if (entry) {
		entry->ino = persistent->ino;
		entry->uid = persistent->uid;
		entry->gid = persistent->gid;
		entry->persistent_slot = slot;
		daemon_self->tree->last_device = nodeid_device(persistent->ino);
	}
	return tree_add_entry(tree_root(), entry, false, fill, arg);
}

void tree_restore_attributes(const struct persistent_name *persistent, uint32_t slot)
{
	struct tree *tree = daemon_self->tree;
	guard_mutex(&tree->lock);
	struct entry *entry = persistent->ino == FUSE_ROOT_ID
				      ? &tree->root
				      : find_fixed(&tree->root, persistent->ino);

	if (!entry) {
		persistent_remove_name(&slot);
		return;
	}
	entry->mode = persistent->mode & 07777;
	entry->uid = persistent->uid;
	entry->gid = persistent->gid;
	entry->persistent_slot = slot;
}

int tree_add_shared(struct entry *dir, const char *name, mode_t mode,
		    void (*fill)(struct entry *entry, void *arg), void *arg)
{
	return tree_add_entry(dir, tree_new_entry(dir, name, ENTRY_TEXT, mode), true, fill, arg);
}

struct entry *tree_child(struct entry *dir, const char *name)
{
	guard_mutex(&daemon_self->tree->lock);
	return directory_find(dir, name);
}

static void unlink_entry(struct entry *entry)
{
	directory_remove(entry);
	persistent_remove_name(&entry->persistent_slot);
	put_entry(entry);
}

void tree_remove_shared(struct entry *dir, const char *name)
{
	guard_mutex(&daemon_self->tree->lock);
	struct entry *entry = directory_find(dir, name);

	if (entry && !--entry->shares)
		unlink_entry(entry);
}

int tree_remove(struct entry *dir, const char *name)
{
	guard_mutex(&daemon_self->tree->lock);
	struct entry *entry = directory_find(dir, name);

	if (!entry)
		return -ENOENT;
	if (entry->fixed)
		return -EPERM;
	unlink_entry(entry);
	return 0;
}

int tree_rename(struct entry *dir, const char *from, const char *to)
{
	guard_mutex(&daemon_self->tree->lock);
	struct entry *entry = directory_find(dir, from);
	struct entry *replaced = directory_find(dir, to);
	char *name;

	if (!entry)
		return -ENOENT;
	if (entry->fixed || (replaced && replaced->fixed))
		return -EPERM;
	if (replaced == entry)
		return 0;
	name = strdup(to);
	if (!name)
		return -ENOMEM;
	directory_rename(entry, name);
	persist_entry(entry);
	if (replaced)
		unlink_entry(replaced);
	return 0;
}

static void fill_attr(const struct entry *entry, uint64_t id, struct fuse_attr *attr)
{
	*attr = (struct fuse_attr){
		.ino = id,
		.size = entry->kind == ENTRY_DEVICE ? DEVICE_SIZE : 0,
		.atime = (uint64_t)daemon_self->tree->start_time,
		.mtime = (uint64_t)daemon_self->tree->start_time,
		.ctime = (uint64_t)daemon_self->tree->start_time,
		.mode = kind_modes[entry->kind] | entry->mode,
		.nlink = entry->kind == ENTRY_DIR ? 2 : 1,
		.uid = entry->uid,
		.gid = entry->gid,
		.blksize = 4096,
	};
}

uint64_t tree_device(uint64_t parent, const char *name)
{
	const struct entry *entry = NULL;
	uint64_t ino;
	guard_mutex(&daemon_self->tree->lock);
	const struct inode *dir = find_or_adopt_inode(parent);

	if (dir && dir->entry->kind == ENTRY_DIR)
		entry = directory_find(dir->entry, name);
	ino = entry && entry->kind == ENTRY_DEVICE ? entry->ino : 0;
	return ino;
}

bool tree_is_shared(const struct entry *entry)
{
	return entry->kind == ENTRY_TEXT && generation_of(entry->ino);
}

/* The inode for a LOOKUP by that user. Returns 0, -ENFILE, -ENOMEM. */
static int get_inode(struct entry *entry, uid_t uid, struct inode **inode)
{
	int error;

	if (entry->kind == ENTRY_DEVICE)
		return add_charged_inode(entry, new_nodeid(nodeid_device(entry->ino)), uid, inode);
	if (!tree_is_shared(entry)) {
		*inode = tree_find_inode(entry->ino) ? : tree_add_inode(entry, entry->ino);
		return *inode ? 0 : -ENOMEM;
	}
	for (*inode = entry->shared; *inode; *inode = (*inode)->next_shared)
		if ((*inode)->uid == uid)
			return 0;
	error = add_charged_inode(entry, entry->shared ? new_nodeid(0) : entry->ino, uid, inode);
	if (!error) {
		(*inode)->next_shared = entry->shared;
		entry->shared = *inode;
	}
	return error;
}

int tree_lookup(uint64_t parent, const char *name, pid_t tid, uid_t uid,
		struct fuse_entry_out *out)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode *dir = find_or_adopt_inode(parent);
	struct inode *inode;
	struct entry *entry;
	int error;

	if (!dir)
		return -ESTALE;
	if (dir->entry->kind != ENTRY_DIR)
		return -ENOTDIR;
	entry = directory_find(dir->entry, name);
	if (!entry)
		return -ENOENT;
	error = get_inode(entry, uid, &inode);
	if (error)
		return error;
	if (entry->kind == ENTRY_DEVICE)
		bound_open_looked_up(&inode->opens, tid);
	inode->lookups++;
	*out = (struct fuse_entry_out){ .nodeid = inode->id, .attr_valid = 1 };
	fill_attr(entry, inode->id, &out->attr);
	return 0;
}

void tree_forget(uint64_t id, uint64_t lookups)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode **slot = &daemon_self->tree->buckets[id % TREE_BUCKETS];
	struct inode *inode;

	while (*slot && (*slot)->id != id)
		slot = &(*slot)->next;
	inode = *slot;
	if (!inode || id == FUSE_ROOT_ID)
		return;
	inode->lookups -= lookups < inode->lookups ? lookups : inode->lookups;
	if (inode->lookups)
		return;
	*slot = inode->next;
	unlink_shared(inode);
	if (inode->charged)
		user_charges_remove(inode->uid, USER_INODES);
	put_entry(inode->entry);
	free(inode);
	account_note_freed(sizeof(*inode));
}

int tree_getattr(uint64_t id, struct fuse_attr_out *out)
{
	static const struct fuse_setattr_in nothing;

	return tree_setattr(id, &nothing, out);
}

int tree_setattr(uint64_t id, const struct fuse_setattr_in *in, struct fuse_attr_out *out)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode *inode = find_or_adopt_inode(id);

	if (!inode)
		return -ESTALE;
	if (in->valid & FATTR_MODE)
		inode->entry->mode = in->mode & 07777;
	if (in->valid & FATTR_UID)
		inode->entry->uid = in->uid;
	if (in->valid & FATTR_GID)
		inode->entry->gid = in->gid;
	if ((in->valid & (FATTR_MODE | FATTR_UID | FATTR_GID)) && is_persistent(inode->entry))
		persist_entry(inode->entry);
	*out = (struct fuse_attr_out){ .attr_valid = 1 };
	fill_attr(inode->entry, id, &out->attr);
	return 0;
}

struct entry *tree_find(uint64_t id)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode *inode = find_or_adopt_inode(id);

	if (!inode)
		return NULL;
	inode->entry->refs++;
	return inode->entry;
}

int tree_open(uint64_t id, pid_t tid, uint32_t flags, struct entry **entry, uint64_t *open_id)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode *inode = find_or_adopt_inode(id);
	int result;

	if (!inode)
		return -ESTALE;
	*entry = inode->entry;
	*open_id = id;
	if (inode->entry->kind == ENTRY_DEVICE) {
		if (bound_open_is_kernels(&inode->opens, flags))
			return -EINVAL;
		result = bound_open_decide(&inode->opens, id, tid);
		if (result < 0)
			return result;
		if (result == OPEN_BOUND)
			*open_id = new_nodeid(nodeid_device(inode->entry->ino));
	}
	inode->entry->refs++;
	return 0;
}

void tree_pages_dropped(uint64_t id)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode *inode = tree_find_inode(id);

	if (inode)
		bound_open_pages_dropped(&inode->opens);
}

void tree_closed(uint64_t id)
{
	guard_mutex(&daemon_self->tree->lock);
	struct inode *inode = tree_find_inode(id);

	if (inode)
		bound_open_release(&inode->opens);
}

void tree_put(struct entry *entry)
{
	guard_mutex(&daemon_self->tree->lock);
	put_entry(entry);
}

static void list_one(struct text *text, const char *name, const struct entry *entry)
{
	size_t length = strlen(name);
	struct fuse_dirent head = {
		.ino = entry->ino,
		.namelen = (uint32_t)length,
		.type = kind_modes[entry->kind] >> 12,
	};
	static const char zeros[8];

	head.off = text->size + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
	text_append(text, &head, FUSE_NAME_OFFSET);
	text_append(text, name, length);
	text_append(text, zeros, head.off - text->size);
}

void tree_list(struct entry *dir, struct text *text)
{
	guard_mutex(&daemon_self->tree->lock);
	list_one(text, ".", dir);
	list_one(text, "..", dir->parent ? dir->parent : dir);
	for (struct entry *entry = dir->child; entry; entry = entry->next)
		list_one(text, entry->name, entry);
}
