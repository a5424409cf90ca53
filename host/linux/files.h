/* SPDX-License-Identifier: GPL-2.0 */
/* files: file descriptors of the calling process. All functions may sleep. */
#ifndef HOST_LINUX_FILES_H
#define HOST_LINUX_FILES_H

#include "host_types.h"

/* Takes a reference to the file of @fd. -EBADF. */
int files_get(u32 fd, struct host_file **file);
void files_put(struct host_file *file);
/* Installs all files, or none: -EMFILE, -ENOMEM. */
int files_install(struct host_file **files, u32 nr, u32 *fds);
void files_close(const u32 *fds, u32 nr);

#endif
