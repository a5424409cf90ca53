/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies between the daemon and the memory of a thread that is blocked in a request. Return 0,
 * -EFAULT, also after a partial copy, or -ESRCH if the thread is being killed. The client controls
 * how long a page fault takes (its memory may be backed by its own file system), so the worker may
 * get stuck here: see pool.h. No engine lock may be held.
 */
#ifndef HOST_FUSE_CLIENT_MEMORY_H
#define HOST_FUSE_CLIENT_MEMORY_H

#include "host_types.h"

#include <sys/types.h>

int client_memory_read(pid_t tid, void *dst, u64 src, size_t size);
int client_memory_write(pid_t tid, u64 dst, const void *src, size_t size);

#endif
