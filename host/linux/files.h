/* SPDX-License-Identifier: GPL-2.0 */
/* files: open files on their way from the calling process, and into it. All may sleep. */
#ifndef HOST_LINUX_FILES_H
#define HOST_LINUX_FILES_H

#include "host_types.h"

/* Counts the file behind @fd of the calling process. -EBADF. */
int files_get(u32 fd, struct host_file **file);
void files_put(struct host_file *file);
/* Gives the calling process all files, or none: -EMFILE, -ENOMEM. */
int files_install(struct host_file **files, u32 nr, u32 *fds);
/* Closes these of the calling process. */
void files_close(const u32 *fds, u32 nr);

#endif
