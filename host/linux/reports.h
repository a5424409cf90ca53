/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reports: the engine's texts as files, in debugfs (binder/) and in each binderfs that was mounted
 * with stats=global (binder_logs/).
 */
#ifndef HOST_LINUX_REPORTS_H
#define HOST_LINUX_REPORTS_H

#include "host_types.h"

struct dentry;
struct file_operations;
struct super_block;

/* One text for everybody; for files of @fops whose inode's i_private is the report. */
struct report_file {
	const char *name;
	void (*write)(struct host_out *out);
	int (*obey)(const char *word); /* what is written to it, by root; NULL: it cannot be */
};

/* Its permission bits. */
static inline umode_t report_mode(const struct report_file *file)
{
	return file->obey ? 0644 : 0444;
}

extern const struct report_file report_files[];
extern const unsigned int nr_report_files;
extern const struct file_operations report_fops;
/* The text on one process; i_private is its number. */
extern const struct file_operations report_proc_fops;

/* debugfs. What cannot be made there is not: nothing depends on it. */
void reports_init(void);
void reports_exit(void);

/*
 * A process has opened (closed) a device, in @sb: proc/PID is there while it has one open. May
 * sleep.
 */
void reports_proc_opened(s32 pid, struct super_block *sb);
void reports_proc_closed(s32 pid, struct super_block *sb);

#endif
