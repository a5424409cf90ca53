/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who opened a device: the process, its user, namespaces and security context.
 *
 * All of it comes from the kernel: the thread number from the request, the rest from /proc while
 * that thread is blocked in the request, so that the number cannot have been reused.
 */
#ifndef HOST_FUSE_OPENER_IDENTITY_H
#define HOST_FUSE_OPENER_IDENTITY_H

#include "host_types.h"

#include <sys/types.h>

/* Once, in the main thread: checks whether a security module gives processes contexts. */
void identity_init(void);

/*
 * Fills the identity fields of @proc, pidfd included, with those of the process of @tid. Returns 0,
 * -ENOMEM, -EMFILE, or -EACCES for a process that cannot be identified (@tid 0: it is in a pid
 * namespace that the daemon cannot see). Makes system calls.
 */
int identity_read(pid_t tid, struct host_proc *proc);

/* Frees the resources that identity_read() allocated. */
void identity_free(struct host_proc *proc);

/* @proc was copied, and the copy owns those resources now. */
void identity_moved(struct host_proc *proc);

#endif
