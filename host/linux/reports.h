/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reports: files with the reports of the engine, in debugfs (binder/; anybinder/ if another driver
 * has that) and in each binderfs mounted with stats=global (binder_logs/).
 */
#ifndef HOST_LINUX_REPORTS_H
#define HOST_LINUX_REPORTS_H

#include "core.h"

struct dentry;
struct file_operations;
struct super_block;

/* A report about all processes: the i_private of an inode with report_fops. */
struct report_file {
	const char *name;
	void (*write)(struct host_out *out); /* a short report; NULL: that of @kind */
	enum binder_report_kind kind;
};

extern const struct report_file report_files[];
extern const unsigned int nr_report_files;
extern const struct file_operations report_fops;

/**
 * reports_init() - create the files in debugfs
 * @name: the directory; NULL: `binder`. `anybinder` if another driver has it. Then the name
 *
 * Errors are ignored, as usual for debugfs.
 */
void reports_init(char **name);
/**
 * reports_exit() - remove them
 */
void reports_exit(void);

/**
 * reports_proc_opened() - proc/PID exists while a process has a device open
 * @pid: the process
 * @sb: the file system of the device
 *
 * Context: May sleep.
 */
void reports_proc_opened(s32 pid, struct super_block *sb);
/**
 * reports_proc_closed() - the counterpart of reports_proc_opened()
 * @pid: the process
 * @sb: the file system of the device
 *
 * Context: May sleep.
 */
void reports_proc_closed(s32 pid, struct super_block *sb);

#endif
