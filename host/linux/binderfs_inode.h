/* SPDX-License-Identifier: GPL-2.0 */
/* binderfs_inode: the files and directories of a binderfs, apart from how it is mounted. */
#ifndef HOST_LINUX_BINDERFS_INODE_H
#define HOST_LINUX_BINDERFS_INODE_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct binder_context;

/* Inode numbers: the root, then one for each minor number, then the rest. */
#define BINDERFS_ROOT_INO  1
#define BINDERFS_FIRST_INO 3
#define BINDERFS_MAX_MINOR (1 << MINORBITS)

enum binderfs_stats { BINDERFS_STATS_NONE, BINDERFS_STATS_GLOBAL };

extern const struct super_operations binderfs_super_ops;

struct binderfs_options {
	int max; /* devices */
	enum binderfs_stats stats;
};

/* The s_fs_info of a super block. */
struct binderfs_mount {
	struct binderfs_options options;
	struct dentry *control;
	struct dentry *proc_dir; /* binder_logs/proc; NULL: none */
	kuid_t uid;
	kgid_t gid;
	atomic_t nr_devices;
	unsigned long next_ino;
	bool initial_ns;
};

/* The i_private of a device's inode. */
struct binderfs_node {
	struct binder_context *context; /* NULL: binder-control */
	int minor;
};

static inline struct binderfs_mount *binderfs_mount_of(const struct super_block *sb)
{
	return sb->s_fs_info;
}

/**
 * binderfs_context_of() - the device of an inode
 * @inode: of a device
 *
 * Return: the device; NULL if it is not in a binderfs.
 */
struct binder_context *binderfs_context_of(const struct inode *inode);
/**
 * binderfs_proc_dir() - binder_logs/proc of a mount
 * @sb: a file system
 *
 * Return: the directory; NULL if it has none, or is not a binderfs.
 */
struct dentry *binderfs_proc_dir(const struct super_block *sb);

/**
 * binderfs_new_inode() - an inode of the mount's owner
 * @sb: the mount
 * @mode: type and permissions
 *
 * Context: May sleep.
 *
 * Return: the inode; NULL: no memory.
 */
struct inode *binderfs_new_inode(struct super_block *sb, umode_t mode);
/**
 * binderfs_add_file() - create a file in a mount that does not end meanwhile
 * @dir: its directory
 * @name: its name
 * @mode: permission bits
 * @fops: its operations
 * @data: its i_private
 *
 * Context: May sleep.
 *
 * Return: the file; NULL: no memory, or the name exists.
 */
struct dentry *binderfs_add_file(struct dentry *dir, const char *name, umode_t mode,
				 const struct file_operations *fops, void *data);
/**
 * binderfs_add_dir() - create a directory, as binderfs_add_file()
 * @parent: its directory
 * @name: its name
 *
 * Context: May sleep.
 *
 * Return: the directory; NULL: no memory, or the name exists.
 */
struct dentry *binderfs_add_dir(struct dentry *parent, const char *name);
/**
 * binderfs_remove_file() - remove a file of binderfs_add_file()
 * @file: the file
 *
 * Context: May sleep.
 */
void binderfs_remove_file(struct dentry *file);

#endif
