// SPDX-License-Identifier: GPL-2.0
/*
 * A name is a dentry that is pinned until it is removed or the mount ends; there is no other
 * storage.
 */
#include "binderfs_inode.h"

#include "compat/compat.h"

#include <linux/fsnotify.h>

/* The magic number is no proof: another driver's binderfs has the same. */
static bool is_binderfs(const struct super_block *sb)
{
	return sb->s_op == &binderfs_super_ops;
}

struct binder_context *binderfs_context_of(const struct inode *inode)
{
	const struct binderfs_node *node = inode->i_private;

	return is_binderfs(inode->i_sb) ? node->context : NULL;
}

struct dentry *binderfs_proc_dir(const struct super_block *sb)
{
	return is_binderfs(sb) ? binderfs_mount_of(sb)->proc_dir : NULL;
}

struct inode *binderfs_new_inode(struct super_block *sb, umode_t mode)
{
	struct binderfs_mount *mount = binderfs_mount_of(sb);
	struct inode *inode = new_inode(sb);

	if (!inode)
		return NULL;
	inode->i_mode = mode;
	inode->i_uid = mount->uid;
	inode->i_gid = mount->gid;
	compat_inode_init_times(inode);
	return inode;
}

/* Links @inode in @dir, or drops it. */
static struct dentry *binderfs_add_inode(struct dentry *dir, const char *name, struct inode *inode)
{
	struct binderfs_mount *mount = binderfs_mount_of(dir->d_sb);
	struct dentry *dentry = compat_start_creating(dir, name);

	if (IS_ERR(dentry)) {
		iput(inode);
		return NULL;
	}
	inode->i_ino = BINDERFS_MAX_MINOR + BINDERFS_FIRST_INO + ++mount->next_ino;
	compat_make_persistent(dentry, inode);
	if (S_ISDIR(inode->i_mode))
		inc_nlink(d_inode(dir));
	fsnotify_create(d_inode(dir), dentry);
	compat_done_creating(dentry);
	return dentry;
}

struct dentry *binderfs_add_file(struct dentry *dir, const char *name, umode_t mode,
				 const struct file_operations *fops, void *data)
{
	struct inode *inode = binderfs_new_inode(dir->d_sb, S_IFREG | mode);

	if (!inode)
		return NULL;
	inode->i_fop = fops;
	inode->i_private = data;
	return binderfs_add_inode(dir, name, inode);
}

void binderfs_remove_file(struct dentry *file)
{
	struct dentry *dir = file->d_parent;

	inode_lock(d_inode(dir));
	dget(file);
	simple_unlink(d_inode(dir), file);
	d_delete(file);
	dput(file);
	inode_unlock(d_inode(dir));
}

struct dentry *binderfs_add_dir(struct dentry *parent, const char *name)
{
	struct inode *inode = binderfs_new_inode(parent->d_sb, S_IFDIR | 0755);

	if (!inode)
		return NULL;
	inode->i_fop = &simple_dir_operations;
	inode->i_op = &simple_dir_inode_operations;
	set_nlink(inode, 2);
	return binderfs_add_inode(parent, name, inode);
}
