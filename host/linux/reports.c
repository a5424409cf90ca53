// SPDX-License-Identifier: GPL-2.0
/*
 * A report is generated as its file is read, slice by slice, and again when it is read from the
 * start. A process may have several devices open, so the file of a process counts its opens.
 */
#include "reports.h"

#include "binderfs_inode.h"
#include "core.h"

#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* What one slice of a report, or a short report, takes at most is far less. */
#define TEXT_SIZE (64 * 1024)

const struct report_file report_files[] = {
	{ "state", .kind = REPORT_STATE },
	{ "stats", .kind = REPORT_STATS },
	{ "transactions", .kind = REPORT_TRANSACTIONS },
	{ "state_hashed", .kind = REPORT_STATE_HASHED },
	{ "transactions_hashed", .kind = REPORT_TRANSACTIONS_HASHED },
	{ "transaction_log", binder_report_transaction_log },
	{ "failed_transaction_log", binder_report_failed_transaction_log },
};
const unsigned int nr_report_files = ARRAY_SIZE(report_files);

static const struct report_file proc_report = { .kind = REPORT_PROC };

/* ---- reading ---- */

/* An open report. */
struct reader {
	const struct report_file *file;
	s32 pid;
	struct mutex lock; /* guards the rest */
	struct binder_report *report; /* NULL: not begun, or complete */
	bool begun;
	loff_t start; /* offset of the slice in the report */
	struct host_out slice;
};

static void report_free_reader(struct reader *reader)
{
	if (reader->report)
		binder_report_free(reader->report);
	kvfree(reader->slice.text);
	kfree(reader);
}

static int report_open_reader(struct file *filp, const struct report_file *file, s32 pid)
{
	struct reader *reader = kzalloc(sizeof(*reader), GFP_KERNEL_ACCOUNT);

	if (!reader)
		return -ENOMEM;
	reader->file = file;
	reader->pid = pid;
	mutex_init(&reader->lock);
	reader->slice.size = TEXT_SIZE;
	if (filp->f_mode & FMODE_READ)
		reader->slice.text = kvmalloc(TEXT_SIZE, GFP_KERNEL_ACCOUNT);
	if ((filp->f_mode & FMODE_READ) && !reader->slice.text) {
		report_free_reader(reader);
		return -ENOMEM;
	}
	filp->private_data = reader;
	return 0;
}

static int report_open(struct inode *inode, struct file *filp)
{
	return report_open_reader(filp, inode->i_private, 0);
}

static int report_release(struct inode *inode, struct file *filp)
{
	report_free_reader(filp->private_data);
	return 0;
}

static void report_rewind(struct reader *reader)
{
	if (reader->report)
		binder_report_free(reader->report);
	reader->report = NULL;
	reader->begun = false;
	reader->start = 0;
	reader->slice.len = 0;
}

/* Generates the slice that follows. Returns 0, or 1 at the end, or -ENOMEM. */
static int report_next_slice(struct reader *reader)
{
	bool first = !reader->begun;

	reader->begun = true;
	reader->start += reader->slice.len;
	reader->slice.len = 0;
	if (reader->file->write) {
		if (first)
			reader->file->write(&reader->slice);
		return !first;
	}
	if (first) {
		reader->report = binder_report_new(reader->file->kind, reader->pid);
		if (!reader->report)
			return -ENOMEM;
	}
	return !binder_report_next(reader->report, &reader->slice);
}

/* Makes @at lie in the slice. Returns 0, or 1 behind the end, or -errno. */
static int report_seek(struct reader *reader, loff_t at)
{
	int err = 0;

	if (at < reader->start)
		report_rewind(reader);
	while (!err && at >= reader->start + reader->slice.len) {
		err = report_next_slice(reader);
		cond_resched();
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
	}
	return err;
}

static ssize_t report_read(struct file *filp, char __user *to, size_t size, loff_t *at)
{
	struct reader *reader = filp->private_data;
	ssize_t done = 0;
	int err;

	err = mutex_lock_killable(&reader->lock);
	if (err)
		return err;
	while (size) {
		size_t off, nr;

		err = report_seek(reader, *at);
		if (err)
			break;
		off = *at - reader->start;
		nr = min(size, reader->slice.len - off);
		if (copy_to_user(to, reader->slice.text + off, nr)) {
			err = -EFAULT;
			break;
		}
		to += nr;
		size -= nr;
		done += nr;
		*at += nr;
	}
	mutex_unlock(&reader->lock);
	return done || err > 0 ? done : err;
}

const struct file_operations report_fops = {
	.owner = THIS_MODULE,
	.open = report_open,
	.read = report_read,
	.llseek = default_llseek,
	.release = report_release,
};

static int report_proc_open(struct inode *inode, struct file *filp)
{
	return report_open_reader(filp, &proc_report, (s32)(long)inode->i_private);
}

static const struct file_operations report_proc_fops = {
	.owner = THIS_MODULE,
	.open = report_proc_open,
	.read = report_read,
	.llseek = default_llseek,
	.release = report_release,
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

static struct dentry *reports_add_to_debugfs(struct dentry *dir, const char *name, void *data)
{
	struct dentry *file = debugfs_create_file(name, 0444, dir, data, &report_proc_fops);

	return IS_ERR(file) ? NULL : file;
}

static struct dentry *reports_add_to_binderfs(struct dentry *dir, const char *name, void *data)
{
	return binderfs_add_file(dir, name, 0444, &report_proc_fops, data);
}

static const struct proc_dir_ops in_debugfs = { reports_add_to_debugfs, debugfs_remove };
static const struct proc_dir_ops in_binderfs = { reports_add_to_binderfs, binderfs_remove_file };

static struct proc_file *reports_find_proc_locked(const struct dentry *dir, s32 pid)
{
	struct proc_file *file;

	list_for_each_entry(file, &proc_files, link) {
		if (file->dir == dir && file->pid == pid)
			return file;
	}
	return NULL;
}

static void reports_add_proc(const struct proc_dir_ops *ops, struct dentry *dir, s32 pid)
{
	struct proc_file *file;
	char name[16];

	mutex_lock(&proc_files_lock);
	file = reports_find_proc_locked(dir, pid);
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

static void reports_del_proc(const struct proc_dir_ops *ops, struct dentry *dir, s32 pid)
{
	struct proc_file *file;

	mutex_lock(&proc_files_lock);
	file = reports_find_proc_locked(dir, pid);
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

	reports_add_proc(&in_debugfs, debugfs_proc, pid);
	if (dir)
		reports_add_proc(&in_binderfs, dir, pid);
}

void reports_proc_closed(s32 pid, struct super_block *sb)
{
	struct dentry *dir = binderfs_proc_dir(sb);

	if (dir)
		reports_del_proc(&in_binderfs, dir, pid);
	reports_del_proc(&in_debugfs, debugfs_proc, pid);
}

/* ---- debugfs ---- */

static bool reports_is_taken(const char *name)
{
	struct dentry *found = debugfs_lookup(name, NULL);

	if (IS_ERR_OR_NULL(found))
		return false;
	dput(found);
	return true;
}

void reports_init(char **name)
{
	char *wanted = *name ?: "binder";
	unsigned int i;

	if (reports_is_taken(wanted)) {
		pr_info("another driver has the debugfs directory %s: reports are in anybinder\n",
			wanted);
		wanted = "anybinder";
	}
	*name = wanted;
	debugfs_dir = debugfs_create_dir(wanted, NULL);
	for (i = 0; i < nr_report_files; i++)
		debugfs_create_file(report_files[i].name, 0444, debugfs_dir,
				    (void *)&report_files[i], &report_fops);
	debugfs_proc = debugfs_create_dir("proc", debugfs_dir);
}

void reports_exit(void)
{
	debugfs_remove(debugfs_dir);
}
