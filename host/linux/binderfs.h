/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binderfs: the file system that makes devices: each mount has devices of its own, which nobody
 * sees who does not see the mount.
 */
#ifndef HOST_LINUX_BINDERFS_H
#define HOST_LINUX_BINDERFS_H

#include "host_types.h"

struct binder_context;
struct dentry;
struct file_operations;
struct inode;
struct super_block;

/* @devices: names of the devices that every mount begins with. -errno. */
int binderfs_init(const char *devices);
void binderfs_exit(void);

/* The device behind an inode; NULL if it belongs to no binderfs. */
struct binder_context *binderfs_context_of(const struct inode *inode);
/* binder_logs/proc of a mount; NULL if it has none, or @sb is no binderfs. */
struct dentry *binderfs_proc_dir(const struct super_block *sb);

/* A file with permission bits @mode, and its end. @dir: of a mount that cannot go away meanwhile.
 * NULL: no memory, or there is one of this name. May sleep. */
struct dentry *binderfs_add_file(struct dentry *dir, const char *name, umode_t mode,
				 const struct file_operations *fops, void *data);
void binderfs_remove_file(struct dentry *file);

#endif
