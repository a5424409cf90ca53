/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be seen at the mountpoint: a tree of entries (names), and the inodes (numbers that the
 * kernel holds on to) through which it looks at them.
 *
 * An entry is one name: a directory, a text file, the control file or a binder device. An inode is
 * what one LOOKUP answered. All looking up of directories and text files gives the same inode, but
 * each LOOKUP of a device gives a new one, so that every open has a page cache, hence a buffer
 * mapping, of its own.
 *
 * Every function takes the tree's own mutex for a short time and never waits for a client; none may
 * be called with an engine lock held.
 */
#ifndef HOST_FUSE_TREE_H
#define HOST_FUSE_TREE_H

#include "fuse_abi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct binder_context;
struct text;

enum entry_kind { ENTRY_DIR, ENTRY_TEXT, ENTRY_CONTROL, ENTRY_DEVICE };

struct entry {
	struct entry *parent;
	struct entry *child;		/* first of a directory */
	struct entry *next;		/* sibling; directories keep the order of creation */
	char *name;
	enum entry_kind kind;
	mode_t mode;			/* permission bits */
	uid_t uid;
	gid_t gid;
	uint64_t ino;			/* inode number; a device's inodes have their own */
	unsigned int refs;		/* the tree, each inode, each user of tree_find */
	bool fixed;			/* cannot be unlinked or renamed by a user */
	void (*write_text)(struct text *text, uint64_t arg);	/* ENTRY_TEXT */
	uint64_t arg;			/* for write_text */
	int (*obey)(const char *word);	/* what is written to an ENTRY_TEXT; NULL: it is refused */
	struct binder_context *device;	/* ENTRY_DEVICE, counted */
	void (*drop)(struct entry *entry);	/* called before it is freed; may be NULL */
	unsigned int shares;		/* of tree_add_shared() */
};

struct inode {
	struct inode *next;		/* in its hash bucket */
	struct entry *entry;
	uint64_t id;			/* nodeid and inode number */
	uint64_t lookups;		/* that the kernel has not forgotten yet */
	bool opened;			/* a device's inode serves a single open */
};

/* Makes the root. @uid and @gid own everything that is added later. */
void tree_init(uid_t uid, gid_t gid);

/* The root directory. */
struct entry *tree_root(void);

/*
 * Adds a name to a directory. The new entry belongs to the tree; fill in what its kind needs
 * through @fill, which runs before anybody can see it.
 * Returns 0, -EEXIST, -ENOMEM.
 */
int tree_add(struct entry *dir, const char *name, enum entry_kind kind, mode_t mode,
	     void (*fill)(struct entry *entry, void *arg), void *arg);

/*
 * The same for a name that several things share: it is made for the first and goes with the last.
 */
int tree_add_shared(struct entry *dir, const char *name, enum entry_kind kind, mode_t mode,
		    void (*fill)(struct entry *entry, void *arg), void *arg);
void tree_remove_shared(struct entry *dir, const char *name);

/* The entry of a fixed name, which the tree keeps for ever; NULL: there is none. */
struct entry *tree_child(struct entry *dir, const char *name);

/*
 * Takes a name away. Inodes that show it live on until the kernel forgets them.
 * Returns 0, -ENOENT, -EPERM (the entry is fixed).
 */
int tree_remove(struct entry *dir, const char *name);

/* Gives a device another name in the same directory, over an existing device if there is one. */
int tree_rename(struct entry *dir, const char *from, const char *to);

/*
 * Answers a LOOKUP of @name in the directory that inode @parent shows, and counts it.
 * Returns 0, -ENOENT, -ENOTDIR, -ESTALE, -ENOMEM.
 */
int tree_lookup(uint64_t parent, const char *name, struct fuse_entry_out *out);

/* The kernel forgets @lookups look-ups of inode @id. */
void tree_forget(uint64_t id, uint64_t lookups);

/* Attributes of inode @id. Returns 0 or -ESTALE. */
int tree_getattr(uint64_t id, struct fuse_attr_out *out);

/* Changes those of mode, uid and gid that @in->valid names. Returns 0, -ESTALE or -EPERM. */
int tree_setattr(uint64_t id, const struct fuse_setattr_in *in, struct fuse_attr_out *out);

/*
 * The entry that inode @id shows, with a reference for the caller; NULL if there is no such inode.
 * @claim: a device's inode is marked as opened, and NULL is returned if it was before.
 */
struct entry *tree_find(uint64_t id, bool claim);

/* Drops the reference of tree_find(). */
void tree_put(struct entry *entry);

/* Makes the listing of a directory, as struct fuse_dirent after struct fuse_dirent. */
void tree_list(struct entry *dir, struct text *text);

#endif
