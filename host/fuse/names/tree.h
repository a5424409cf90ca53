/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The directory tree at the mountpoint: entries (names), and the inodes by which the kernel refers
 * to them.
 *
 * An entry is one name: a directory, a text file, the control file or a binder device. An inode is
 * the result of a LOOKUP. A directory or text file always has the same inode, but each LOOKUP of a
 * device creates one, so that every open has its own page cache and thus its own buffer mapping. A
 * text that comes and goes has one for each user, who may keep it when the text has gone. An inode
 * is charged to the user whose LOOKUP creates it.
 *
 * Every function takes the tree's mutex for a short time and never waits for a client; no engine
 * lock may be held.
 */
#ifndef HOST_FUSE_TREE_H
#define HOST_FUSE_TREE_H

#include "base/fuse_abi.h"
#include "names/bound_open.h"
#include "session/handles.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct binder_context;
struct binder_report;
struct persistent_name;
struct text;

enum entry_kind { ENTRY_DIR, ENTRY_TEXT, ENTRY_EVENTS, ENTRY_CONTROL, ENTRY_DEVICE };

struct entry {
	struct entry *parent;
	struct entry *child;		/* first of a directory */
	struct entry *last;		/* the same */
	struct entry *previous;		/* sibling; directories keep the order of creation */
	struct entry *next;
	struct entry *next_name;	/* in its bucket of struct tree's names */
	char *name;
	enum entry_kind kind;
	mode_t mode;			/* permission bits */
	uid_t uid;
	gid_t gid;
	uint64_t ino;			/* inode number; each inode of a device has another, but
					 * all name the same device (nodeid_device()) */
	unsigned int refs;		/* the tree, each inode, each user of tree_find() */
	bool fixed;			/* cannot be unlinked or renamed */
	void (*write_text)(struct text *text, uint64_t arg);	/* ENTRY_TEXT: its contents */
	struct binder_report *(*begin_report)(uint64_t arg);	/* or NULL; in its place */
	uint64_t arg;			/* for these two */
	int (*command)(const char *word);	/* ENTRY_TEXT: for write(2); NULL: EINVAL */
	struct binder_context *device;	/* ENTRY_DEVICE, a reference */
	void (*release)(struct entry *entry);	/* called before it is freed; may be NULL */
	unsigned int shares;		/* of tree_add_shared() */
	struct inode *shared;		/* the inodes of an entry that is added by it */
	unsigned int number;		/* in what is handed over (handover/) */
	uint32_t persistent_slot;	/* in what outlives the server (persistent.h); 0: none */
};

struct inode {
	struct inode *next;		/* in its hash bucket */
	struct entry *entry;
	uint64_t id;			/* nodeid and inode number */
	uint64_t lookups;		/* that the kernel has not dropped by FORGET yet */
	struct inode *next_shared;	/* of its entry, if several users have one each */
	bool charged;			/* to user @uid (USER_INODES) */
	uid_t uid;
	struct inode_opens opens;		/* a device's */
};

/* Creates the root directory. @uid and @gid own all entries added later. */
void tree_init(uid_t uid, gid_t gid);

/* The root directory. */
struct entry *tree_root(void);

/*
 * Adds a name to a directory. @fill sets the fields of its kind before the entry is visible; it may
 * be NULL. Returns 0, -EEXIST, -ENOMEM, -ENOSPC (devices).
 */
int tree_add(struct entry *dir, const char *name, enum entry_kind kind, mode_t mode,
	     void (*fill)(struct entry *entry, void *arg), void *arg);

/*
 * Adds a device as a predecessor had it (persistent.h), whose entry is in @slot. Returns 0,
 * -EEXIST, -ENOMEM.
 */
int tree_restore_device(const struct persistent_name *persistent, uint32_t slot,
			void (*fill)(struct entry *entry, void *arg), void *arg);

/* Gives a directory or text the owner and permissions that a predecessor has kept. */
void tree_restore_attributes(const struct persistent_name *persistent, uint32_t slot);

/*
 * Adds a text that has several users: the first one creates it, as tree_add(), and the last remove
 * deletes it.
 */
int tree_add_shared(struct entry *dir, const char *name, mode_t mode,
		    void (*fill)(struct entry *entry, void *arg), void *arg);
void tree_remove_shared(struct entry *dir, const char *name);

/* The entry of a name that is never removed; NULL: there is none. */
struct entry *tree_child(struct entry *dir, const char *name);

/*
 * Removes a name. Its inodes exist until the kernel drops them.
 * Returns 0, -ENOENT, -EPERM (the entry is fixed).
 */
int tree_remove(struct entry *dir, const char *name);

/*
 * Renames a device within its directory; replaces an existing device of the new name.
 * Returns 0, -ENOENT, -EPERM (one of them is fixed), -ENOMEM.
 */
int tree_rename(struct entry *dir, const char *from, const char *to);

/* The number of the device @name in the directory of inode @parent; 0: there is none. */
uint64_t tree_device(uint64_t parent, const char *name);

/*
 * Looks @name up in the directory of inode @parent for thread @tid of user @uid, and counts the
 * lookup. Returns 0, -ENOENT, -ENOTDIR, -ESTALE, -ENOMEM, -ENFILE: the user has too many inodes.
 */
int tree_lookup(uint64_t parent, const char *name, pid_t tid, uid_t uid,
		struct fuse_entry_out *out);

/* FORGET: the kernel drops @lookups lookups of inode @id. */
void tree_forget(uint64_t id, uint64_t lookups);

/* Attributes of inode @id. Returns 0 or -ESTALE. */
int tree_getattr(uint64_t id, struct fuse_attr_out *out);

/* Changes those of mode, uid and gid that are set in @in->valid. Returns 0 or -ESTALE. */
int tree_setattr(uint64_t id, const struct fuse_setattr_in *in, struct fuse_attr_out *out);

/* The entry of inode @id, with a reference for the caller; NULL if there is no such inode. */
struct entry *tree_find(uint64_t id);

/*
 * Finds the entry of inode @id for an OPEN with @flags by thread @tid. Returns 0, -ESTALE: there is
 * no such inode, or the kernel is to walk the path again; -EBUSY (bound_open.h); -EAGAIN: the
 * inode's pages have to be dropped first, and tree_pages_dropped() be called; -EINVAL: the kernel
 * itself asks an open device for attributes, which the C driver refuses in the same way. For a
 * device *@open_id is the number of its open, which is not @id if the open is bound, and
 * tree_closed() is due when the open ends.
 */
int tree_open(uint64_t id, pid_t tid, uint32_t flags, struct entry **entry, uint64_t *open_id);
void tree_pages_dropped(uint64_t id);
void tree_closed(uint64_t id);

/* Drops the reference of tree_find() or tree_open(). */
void tree_put(struct entry *entry);

/* ---- for a process that hands the tree over, and for the one that takes it over ---- */

/*
 * Calls @see_entry for each entry with a name, a directory before what is in it; then @see_inode
 * for each inode.
 */
void tree_visit(void (*see_entry)(struct entry *entry, void *arg),
		void (*see_inode)(const struct inode *inode, void *arg), void *arg);

/* The times that all files show. */
time_t tree_start_time(void);
void tree_set_start_time(time_t time);

/*
 * Adds what @like describes: its name, kind, mode, owner, inode number and shares, below @dir
 * behind all others there, or, with @unlinked, without a name in the tree. NULL: no memory.
 */
struct entry *tree_restore(struct entry *dir, const struct entry *like, bool unlinked);
/* Adds an inode to @entry as @like describes it. False: no memory. */
bool tree_restore_inode(struct entry *entry, const struct inode *like);

/* Appends the listing of a directory to @text, as struct fuse_dirent each. */
void tree_list(struct entry *dir, struct text *text);

/* ---- for tree_move.c; the lock is held ---- */

#define TREE_BUCKETS 4096u

struct tree {
	pthread_mutex_t lock;
	struct entry root;
	struct inode *buckets[TREE_BUCKETS];
	struct entry *names[TREE_BUCKETS];	/* for directory.c, as the next */
	struct entry *devices[NODEID_DEVICES_MAX + 1];
	uint64_t last_number;		/* counts the nodeids of this server */
	unsigned int last_device;	/* the number of the newest */
	time_t start_time;
};

/* The inode @id; NULL: there is none. */
struct inode *tree_find_inode(uint64_t id);
/* Adds the inode @id of @entry. NULL: no memory. */
struct inode *tree_add_inode(struct entry *entry, uint64_t id);
/* Makes an entry that is not in the tree yet. */
struct entry *tree_new_entry(struct entry *dir, const char *name, enum entry_kind kind,
			     mode_t mode);

/* Was the entry added by tree_add_shared()? */
bool tree_is_shared(const struct entry *entry);

/* ---- directory.c: the entries of a directory; the lock is held ---- */

/* The entry of @dir with this name; NULL: none. */
struct entry *directory_find(const struct entry *dir, const char *name);

/* The device with this number; NULL: none. */
struct entry *directory_device(unsigned int number);

/* Adds @entry, which has its parent, name and inode number, behind all others of its parent. */
void directory_add(struct entry *entry);
void directory_remove(struct entry *entry);

/* Gives @entry, which keeps its place, another name. Takes @name, and frees the one before. */
void directory_rename(struct entry *entry, char *name);

#endif
