/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel says of a process in a file of /proc. No engine lock may be held.
 */
#ifndef HOST_FUSE_PROC_FILE_H
#define HOST_FUSE_PROC_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads /proc/@pid/@name into @buffer of @size bytes, which ends with 0. Returns how many bytes, or
 * -1.
 */
ssize_t proc_file_read(pid_t pid, const char *name, char *buffer, size_t size);

/* The rest of the line of @text that begins with @key; NULL if there is none. */
const char *proc_file_line(const char *text, const char *key);

#endif
