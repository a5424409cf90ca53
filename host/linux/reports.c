// SPDX-License-Identifier: GPL-2.0
/*
 * A report is generated each time its file is read from the start. A process may have several
 * devices open, so the file of a process counts its opens.
 */
#include "reports.h"

#include "binderfs_inode.h"
#include "core.h"

#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

const struct report_file report_files[] = {
	{ "state", binder_report_state },
	{ "stats", binder_report_stats },
	{ "transactions", binder_report_transactions },
	{ "state_hashed", binder_report_state_hashed },
	{ "transactions_hashed", binder_report_transactions_hashed },
	{ "transaction_log", binder_report_transaction_log },
	{ "failed_transaction_log", binder_report_failed_transaction_log },
	{ "lock_contention", binder_report_contention, binder_contention_command },
};
const unsigned int nr_report_files = ARRAY_SIZE(report_files);

/* ---- reading and writing ---- */

static int report_show(struct seq_file *seq, void *unused)
{
	const struct report_file *file = seq->private;
	struct host_out out = { seq };

	file->write(&out);
	return 0;
}

static int report_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, report_show, inode->i_private);
}

/* One word in one write. A binderfs may belong to a container, so the capability is required. */
static ssize_t report_write(struct file *filp, const char __user *from, size_t size, loff_t *at)
{
	const struct report_file *file = ((struct seq_file *)filp->private_data)->private;
	char word[16];
	int err;

	if (!file->command || size >= sizeof(word))
		return -EINVAL;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(word, from, size))
		return -EFAULT;
	word[size] = '\0';
	word[strcspn(word, "\n")] = '\0';
	err = file->command(word);
	return err ? err : size;
}

const struct file_operations report_fops = {
	.owner = THIS_MODULE,
	.open = report_open,
	.read = seq_read,
	.write = report_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int proc_show(struct seq_file *seq, void *unused)
{
	struct host_out out = { seq };

	binder_report_proc(&out, (s32)(long)seq->private);
	return 0;
}

static int proc_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, proc_show, inode->i_private);
}

static const struct file_operations proc_fops = {
	.owner = THIS_MODULE,
	.open = proc_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

/* ---- proc/PID ---- */

/* Where such a file is: in debugfs or in a binderfs. */
struct proc_dir_ops {
	struct dentry *(*add)(struct dentry *dir, const char *name, void *data);
	void (*remove)(struct dentry *file);
};

struct proc_file {
	struct list_head link;
	struct dentry *dir;
	struct dentry *file;
	s32 pid;
	unsigned int opens;
};

static LIST_HEAD(proc_files);
static DEFINE_MUTEX(proc_files_lock);
static struct dentry *debugfs_dir, *debugfs_proc;

static struct dentry *add_to_debugfs(struct dentry *dir, const char *name, void *data)
{
	struct dentry *file = debugfs_create_file(name, 0444, dir, data, &proc_fops);

	return IS_ERR(file) ? NULL : file;
}

static struct dentry *add_to_binderfs(struct dentry *dir, const char *name, void *data)
{
	return binderfs_add_file(dir, name, 0444, &proc_fops, data);
}

static const struct proc_dir_ops in_debugfs = { add_to_debugfs, debugfs_remove };
static const struct proc_dir_ops in_binderfs = { add_to_binderfs, binderfs_remove_file };

static struct proc_file *find_locked(const struct dentry *dir, s32 pid)
{
	struct proc_file *file;

	list_for_each_entry(file, &proc_files, link) {
		if (file->dir == dir && file->pid == pid)
			return file;
	}
	return NULL;
}

static void add(const struct proc_dir_ops *ops, struct dentry *dir, s32 pid)
{
	struct proc_file *file;
	char name[16];

	mutex_lock(&proc_files_lock);
	file = find_locked(dir, pid);
	if (!file)
		file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (file && !file->opens++) {
		snprintf(name, sizeof(name), "%d", pid);
		file->dir = dir;
		file->pid = pid;
		file->file = ops->add(dir, name, (void *)(long)pid);
		list_add(&file->link, &proc_files);
	}
	mutex_unlock(&proc_files_lock);
}

static void del(const struct proc_dir_ops *ops, struct dentry *dir, s32 pid)
{
	struct proc_file *file;

	mutex_lock(&proc_files_lock);
	file = find_locked(dir, pid);
	if (file && !--file->opens) {
		list_del(&file->link);
		if (file->file)
			ops->remove(file->file);
		kfree(file);
	}
	mutex_unlock(&proc_files_lock);
}

void reports_proc_opened(s32 pid, struct super_block *sb)
{
	struct dentry *dir = binderfs_proc_dir(sb);

	add(&in_debugfs, debugfs_proc, pid);
	if (dir)
		add(&in_binderfs, dir, pid);
}

void reports_proc_closed(s32 pid, struct super_block *sb)
{
	struct dentry *dir = binderfs_proc_dir(sb);

	if (dir)
		del(&in_binderfs, dir, pid);
	del(&in_debugfs, debugfs_proc, pid);
}

/* ---- debugfs ---- */

void reports_init(void)
{
	unsigned int i;

	debugfs_dir = debugfs_create_dir("binder", NULL);
	for (i = 0; i < nr_report_files; i++)
		debugfs_create_file(report_files[i].name, report_mode(&report_files[i]),
				    debugfs_dir, (void *)&report_files[i], &report_fops);
	debugfs_proc = debugfs_create_dir("proc", debugfs_dir);
}

void reports_exit(void)
{
	debugfs_remove(debugfs_dir);
}
