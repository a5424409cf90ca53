// SPDX-License-Identifier: GPL-2.0
/*
 * Root of the mount creates devices through binder-control, and can remove and rename them; other
 * files cannot be created or removed by users.
 *
 * Every user namespace may mount a binderfs and open its devices: a device only gives access to
 * processes that use the same mount.
 *
 * The file system has two names: one that only this module has, and the C driver's, which
 * programs mount. The kernel gives a name to the first driver that asks for it.
 */
#include "binderfs.h"

#include "binderfs_inode.h"
#include "compat/compat.h"
#include "core.h"
#include "device.h"
#include "netlink.h"
#include "reports.h"

#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/fsnotify.h>
#include <linux/idr.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

/* Reserved for mounts of the initial user namespace. */
#define RESERVED_MINORS 4
#define CONTROL_NAME "binder-control"

/* The argument of <linux/android/binderfs.h>, which cannot be included with common/abi.h. */
struct binderfs_device {
	char name[BINDER_NAME_MAX + 1];
	u32 major;
	u32 minor;
};

#define BINDER_CTL_ADD _IOWR('b', 1, struct binderfs_device)

static const char *first_devices;
static dev_t first_dev;
static DEFINE_IDA(minors);

/* ---- inodes of devices ---- */

static struct inode *binderfs_new_device_inode(struct super_block *sb, struct binderfs_node *node,
					       const struct file_operations *fops)
{
	struct inode *inode = binderfs_new_inode(sb, S_IFCHR | 0600);

	if (!inode)
		return NULL;
	init_special_inode(inode, S_IFCHR | 0600, MKDEV(MAJOR(first_dev), node->minor));
	inode->i_ino = node->minor + BINDERFS_FIRST_INO;
	inode->i_fop = fops;
	inode->i_private = node;
	return inode;
}

static void binderfs_free_node(struct binderfs_node *node)
{
	if (node->context)
		binder_context_put(node->context);
	ida_free(&minors, node->minor);
	kfree(node);
}

static struct binderfs_node *binderfs_new_node(const struct binderfs_mount *mount)
{
	int max = BINDERFS_MAX_MINOR - 1 - (mount->initial_ns ? 0 : RESERVED_MINORS);
	struct binderfs_node *node = kzalloc(sizeof(*node), GFP_KERNEL);

	if (!node)
		return ERR_PTR(-ENOMEM);
	node->minor = ida_alloc_max(&minors, max, GFP_KERNEL);
	if (node->minor < 0) {
		int err = node->minor;

		kfree(node);
		return ERR_PTR(err);
	}
	return node;
}

static void binderfs_evict_inode(struct inode *inode)
{
	struct binderfs_node *node = inode->i_private;

	clear_inode(inode);
	if (!S_ISCHR(inode->i_mode) || !node)
		return;
	if (node->context)
		atomic_dec(&binderfs_mount_of(inode->i_sb)->nr_devices);
	binderfs_free_node(node);
}

/* ---- devices ---- */

/* Returns the dentry, which exists until it is removed, or the mount ends. */
static struct dentry *binderfs_link_inode(struct super_block *sb, const char *name,
					  struct inode *inode)
{
	struct dentry *dentry = compat_start_creating(sb->s_root, name);

	if (IS_ERR(dentry))
		return dentry;
	compat_make_persistent(dentry, inode);
	fsnotify_create(d_inode(sb->s_root), dentry);
	compat_done_creating(dentry);
	return dentry;
}

/* Creates a device and returns its minor number in *@minor. */
static int binderfs_add_device(struct super_block *sb, const char *name, u32 *minor)
{
	struct binderfs_mount *mount = binderfs_mount_of(sb);
	struct binderfs_node *node;
	struct inode *inode;
	struct dentry *dentry;
	int err = -ENOSPC;

	if (atomic_inc_return(&mount->nr_devices) > READ_ONCE(mount->options.max))
		goto uncount;
	node = binderfs_new_node(mount);
	err = PTR_ERR_OR_ZERO(node);
	if (err)
		goto uncount;
	*minor = node->minor;
	err = -ENOMEM;
	node->context = binder_context_new(name);
	if (!node->context)
		goto free_node;
	inode = binderfs_new_device_inode(sb, node, &device_fops);
	if (!inode)
		goto free_node;
	dentry = binderfs_link_inode(sb, name, inode);
	if (!IS_ERR(dentry))
		return 0;
	iput(inode); /* the last reference: binderfs_evict_inode() frees the node and uncounts it */
	return PTR_ERR(dentry);

free_node:
	binderfs_free_node(node);
uncount:
	atomic_dec(&mount->nr_devices);
	return err;
}

static int binderfs_add_first_device(void *sb, const char *name)
{
	u32 minor;

	return binderfs_add_device(sb, name, &minor);
}

/* ---- binder-control ---- */

static long binderfs_control_ioctl(struct file *filp, unsigned int cmd, unsigned long pointer)
{
	void __user *user = (void __user *)pointer;
	struct binderfs_device *device;
	int err;

	if (cmd != BINDER_CTL_ADD)
		return -EINVAL;
	device = memdup_user(user, sizeof(*device));
	if (IS_ERR(device))
		return PTR_ERR(device);
	device->name[BINDER_NAME_MAX] = '\0';
	device->major = MAJOR(first_dev);
	err = binderfs_add_device(file_inode(filp)->i_sb, device->name, &device->minor);
	if (!err && copy_to_user(user, device, sizeof(*device)))
		err = -EFAULT;
	kfree(device);
	return err;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.unlocked_ioctl = binderfs_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static int binderfs_add_control(struct super_block *sb)
{
	struct binderfs_mount *mount = binderfs_mount_of(sb);
	struct binderfs_node *node = binderfs_new_node(mount);
	struct inode *inode;

	if (IS_ERR(node))
		return PTR_ERR(node);
	inode = binderfs_new_device_inode(sb, node, &control_fops);
	if (!inode) {
		binderfs_free_node(node);
		return -ENOMEM;
	}
	mount->control = binderfs_link_inode(sb, CONTROL_NAME, inode);
	if (!IS_ERR(mount->control))
		return 0;
	iput(inode);
	return PTR_ERR(mount->control);
}

/* ---- directories and files ---- */

static int binderfs_unlink(struct inode *dir, struct dentry *dentry)
{
	if (dentry == binderfs_mount_of(dir->i_sb)->control)
		return -EPERM;
	return simple_unlink(dir, dentry);
}

static int binderfs_rename(COMPAT_IDMAP_PARAMETER struct inode *old_dir, struct dentry *old,
			   struct inode *new_dir, struct dentry *new, unsigned int flags)
{
	const struct dentry *control = binderfs_mount_of(old_dir->i_sb)->control;

	if (old == control || new == control)
		return -EPERM;
	return simple_rename(COMPAT_IDMAP_ARGUMENT old_dir, old, new_dir, new, flags);
}

static const struct inode_operations root_iops = {
	.lookup = simple_lookup,
	.rename = binderfs_rename,
	.unlink = binderfs_unlink,
};

static int binderfs_feature_show(struct seq_file *seq, void *unused)
{
	seq_puts(seq, "1\n");
	return 0;
}

static int binderfs_feature_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, binderfs_feature_show, NULL);
}

static const struct file_operations feature_fops = {
	.owner = THIS_MODULE,
	.open = binderfs_feature_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int binderfs_add_features(struct super_block *sb)
{
	static const char *const features[] = {
		"oneway_spam_detection", "extended_error", "freeze_notification",
		"transaction_report", /* last, because it is left out without netlink */
	};
	struct dentry *dir = binderfs_add_dir(sb->s_root, "features");
	size_t i, nr = ARRAY_SIZE(features) - !netlink_registered();

	for (i = 0; dir && i < nr; i++) {
		if (!binderfs_add_file(dir, features[i], 0444, &feature_fops, NULL))
			return -ENOMEM;
	}
	return dir ? 0 : -ENOMEM;
}

static int binderfs_add_reports(struct super_block *sb)
{
	struct dentry *dir = binderfs_add_dir(sb->s_root, "binder_logs");
	unsigned int i;

	for (i = 0; dir && i < nr_report_files; i++) {
		if (!binderfs_add_file(dir, report_files[i].name, 0444, &report_fops,
				       (void *)&report_files[i]))
			return -ENOMEM;
	}
	if (dir)
		binderfs_mount_of(sb)->proc_dir = binderfs_add_dir(dir, "proc");
	return binderfs_mount_of(sb)->proc_dir ? 0 : -ENOMEM;
}

/* ---- mounting ---- */

static int binderfs_show_options(struct seq_file *seq, struct dentry *root)
{
	const struct binderfs_options *options = &binderfs_mount_of(root->d_sb)->options;

	seq_printf(seq, ",max=%d", options->max);
	if (options->stats == BINDERFS_STATS_GLOBAL)
		seq_puts(seq, ",stats=global");
	return 0;
}

const struct super_operations binderfs_super_ops = {
	.evict_inode = binderfs_evict_inode,
	.show_options = binderfs_show_options,
	.statfs = simple_statfs,
};

static struct binderfs_mount *binderfs_new_mount(const struct fs_context *fc)
{
	const struct binderfs_options *options = fc->fs_private;
	struct binderfs_mount *mount = kzalloc(sizeof(*mount), GFP_KERNEL);

	if (!mount)
		return NULL;
	mount->options = *options;
	mount->initial_ns = fc->user_ns == &init_user_ns;
	mount->uid = make_kuid(fc->user_ns, 0);
	if (!uid_valid(mount->uid))
		mount->uid = GLOBAL_ROOT_UID;
	mount->gid = make_kgid(fc->user_ns, 0);
	if (!gid_valid(mount->gid))
		mount->gid = GLOBAL_ROOT_GID;
	return mount;
}

static int binderfs_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct inode *root;
	int err;

	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_magic = BINDERFS_SUPER_MAGIC;
	sb->s_op = &binderfs_super_ops;
	sb->s_time_gran = 1;
	/* Devices may be opened although users may mount it; it never contains programs. */
	sb->s_iflags &= ~SB_I_NODEV;
	sb->s_iflags |= SB_I_NOEXEC;
	sb->s_fs_info = binderfs_new_mount(fc);
	if (!sb->s_fs_info)
		return -ENOMEM;
	root = binderfs_new_inode(sb, S_IFDIR | 0755);
	if (!root)
		return -ENOMEM;
	root->i_ino = BINDERFS_ROOT_INO;
	root->i_fop = &simple_dir_operations;
	root->i_op = &root_iops;
	set_nlink(root, 2);
	sb->s_root = d_make_root(root);
	if (!sb->s_root)
		return -ENOMEM;
	err = binderfs_add_control(sb);
	if (err)
		return err;
	err = device_for_each_name(first_devices, binderfs_add_first_device, sb);
	if (err)
		return err;
	err = binderfs_add_features(sb);
	if (err || binderfs_mount_of(sb)->options.stats != BINDERFS_STATS_GLOBAL)
		return err;
	return binderfs_add_reports(sb);
}

enum option { OPTION_MAX, OPTION_STATS };

static const struct constant_table stats_values[] = { { "global", BINDERFS_STATS_GLOBAL }, {} };

static const struct fs_parameter_spec option_specs[] = {
	fsparam_u32("max", OPTION_MAX),
	fsparam_enum("stats", OPTION_STATS, stats_values),
	{},
};

static int binderfs_parse_option(struct fs_context *fc, struct fs_parameter *param)
{
	struct binderfs_options *options = fc->fs_private;
	struct fs_parse_result result;
	int option = fs_parse(fc, option_specs, param, &result);

	if (option < 0)
		return option;
	if (option == OPTION_MAX) {
		if (result.uint_32 > BINDERFS_MAX_MINOR)
			return invalfc(fc, "Bad value for '%s'", param->key);
		options->max = result.uint_32;
		return 0;
	}
	/* Reports contain all processes of the machine. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	options->stats = result.uint_32;
	return 0;
}

static int binderfs_get_tree(struct fs_context *fc)
{
	return get_tree_nodev(fc, binderfs_fill_super);
}

static int binderfs_reconfigure(struct fs_context *fc)
{
	const struct binderfs_options *options = fc->fs_private;
	struct binderfs_mount *mount = binderfs_mount_of(fc->root->d_sb);

	if (options->stats != mount->options.stats)
		return invalfc(fc, "the stats mode cannot be changed by a remount");
	WRITE_ONCE(mount->options.max, options->max);
	return 0;
}

static void binderfs_free_options(struct fs_context *fc)
{
	kfree(fc->fs_private);
}

static const struct fs_context_operations context_ops = {
	.free = binderfs_free_options,
	.get_tree = binderfs_get_tree,
	.parse_param = binderfs_parse_option,
	.reconfigure = binderfs_reconfigure,
};

static int binderfs_init_context(struct fs_context *fc)
{
	struct binderfs_options *options = kzalloc(sizeof(*options), GFP_KERNEL);

	if (!options)
		return -ENOMEM;
	options->max = BINDERFS_MAX_MINOR;
	fc->fs_private = options;
	fc->ops = &context_ops;
	return 0;
}

static void binderfs_kill_super(struct super_block *sb)
{
	struct binderfs_mount *mount = binderfs_mount_of(sb);

	compat_kill_super(sb);
	kfree(mount); /* used by binderfs_evict_inode() until now */
}

#define BINDERFS_TYPE(type_name)                                                                   \
	{                                                                                          \
		.owner = THIS_MODULE,                                                              \
		.name = type_name,                                                                 \
		.init_fs_context = binderfs_init_context,                                          \
		.parameters = option_specs,                                                        \
		.kill_sb = binderfs_kill_super,                                                    \
		.fs_flags = FS_USERNS_MOUNT,                                                       \
	}

static struct file_system_type own_type = BINDERFS_TYPE("anybinder");
static struct file_system_type usual_type = BINDERFS_TYPE("binder");

/* *@name as in binderfs_init(). */
static int binderfs_register_types(char **name)
{
	int err = register_filesystem(&own_type);

	if (err || (*name && !strcmp(*name, own_type.name)))
		return err;
	if (*name)
		usual_type.name = *name;
	err = register_filesystem(&usual_type);
	if (err == -EBUSY && !*name) {
		pr_info("another driver has the file system binder: mount -t anybinder\n");
		*name = (char *)own_type.name;
		return 0;
	}
	if (!err) {
		*name = (char *)usual_type.name;
		return 0;
	}
	pr_err("the file system %s cannot be registered: %d\n", usual_type.name, err);
	unregister_filesystem(&own_type);
	return err;
}

int binderfs_init(const char *devices, char **name)
{
	int err = alloc_chrdev_region(&first_dev, 0, BINDERFS_MAX_MINOR, "binder");

	if (err)
		return err;
	first_devices = devices;
	err = binderfs_register_types(name);
	if (err)
		unregister_chrdev_region(first_dev, BINDERFS_MAX_MINOR);
	return err;
}

void binderfs_exit(void)
{
	unregister_filesystem(&usual_type); /* refused if another driver has the name */
	unregister_filesystem(&own_type);
	unregister_chrdev_region(first_dev, BINDERFS_MAX_MINOR);
	ida_destroy(&minors);
}
