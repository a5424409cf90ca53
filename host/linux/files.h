/* SPDX-License-Identifier: GPL-2.0 */
/* files: file descriptors of the calling process. All functions may sleep. */
#ifndef HOST_LINUX_FILES_H
#define HOST_LINUX_FILES_H

#include "host_types.h"

#include <linux/file.h>

/* Takes a reference to the file of @fd. -EBADF. */
int files_get(u32 fd, struct host_file **file);
void files_put(struct host_file *file);
/* Installs all files, or none: -EMFILE, -ENOMEM. */
int files_install(struct host_file **files, u32 nr, u32 *fds);
/* Closes descriptors of the calling thread, in an ioctl. */
void files_close(struct host_thread *thread, const u32 *fds, u32 nr);

/* The ioctl of the calling thread ends. */
static inline void files_end_ioctl(struct host_thread *thread)
{
	struct file *file = thread->held_file;

	if (!file)
		return;
	thread->held_file = NULL;
	fput(file);
}

#endif
