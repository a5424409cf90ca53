/* SPDX-License-Identifier: GPL-2.0 */
/* files: file descriptors of the calling process. All functions may sleep. */
#ifndef HOST_LINUX_FILES_H
#define HOST_LINUX_FILES_H

#include "host_types.h"

#include <linux/file.h>

/**
 * files_get() - take a reference to an open file
 * @fd: its descriptor
 * @file: result
 *
 * Return: 0 or -EBADF.
 */
int files_get(u32 fd, struct host_file **file);
/**
 * files_put() - drop the reference of files_get()
 * @file: the file
 */
void files_put(struct host_file *file);
/**
 * files_is_open_of() - is this the open device file of a Binder process?
 * @file: the file
 * @proc: of the Binder process
 */
bool files_is_open_of(const struct host_file *file, const struct host_proc *proc);
/**
 * files_install() - install all files, or none
 * @files: the files, whose references stay with the caller
 * @nr: their number
 * @fds: their descriptors, as a result
 *
 * Return: 0, -EMFILE or -ENOMEM.
 */
int files_install(struct host_file **files, u32 nr, u32 *fds);
/**
 * files_close() - close descriptors in an ioctl of a device
 * @thread: the calling thread
 * @fds: the descriptors
 * @nr: their number
 *
 * The file of the ioctl exists at least until files_end_ioctl().
 */
void files_close(struct host_thread *thread, const u32 *fds, u32 nr);

/**
 * files_end_ioctl() - drop the reference that files_close() has taken
 * @thread: the calling thread, whose ioctl ends
 */
static inline void files_end_ioctl(struct host_thread *thread)
{
	struct file *file = thread->held_file;

	if (!file)
		return;
	thread->held_file = NULL;
	fput(file);
}

#endif
