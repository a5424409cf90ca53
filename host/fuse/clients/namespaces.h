/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients in other pid and user namespaces than the daemon: which user is charged for them, and
 * what they see of each other.
 */
#ifndef HOST_FUSE_NAMESPACES_H
#define HOST_FUSE_NAMESPACES_H

#include "host_types.h"

#include <stdbool.h>
#include <sys/types.h>

/* Once, in the main thread. @limit_containers: each pid namespace below the daemon's is a user. */
void namespaces_init(bool limit_containers);

/*
 * Fills @proc->pid_ns and the user ids of its user namespace, and ends @proc->may_raise if that
 * namespace is not the daemon's. The pids of @proc are known. Returns 0 or -ENOMEM. Makes system
 * calls.
 */
int namespaces_read(struct host_proc *proc);

/*
 * The user that is charged for what the process of @tid does: @uid, that of its request, unless it
 * is in another user namespace than the daemon. Such a process counts as the user who made the
 * outermost of its namespaces, however many user ids it has in there; if that is root or the owner
 * of the mount, as a user of its own for each such namespace. If containers are users, it counts as
 * the outermost of its pid namespaces instead, also root's processes. Makes system calls.
 */
u32 namespaces_charged_uid(pid_t tid, u32 uid);

/* The pid of @subject, dead or alive, in the namespace of @viewer; 0: none. No system call. */
s32 namespaces_number(const struct host_proc *subject, const struct host_proc *viewer);

/* The same pid, but 0 if @subject is dead. No system call unless others use its open. */
s32 namespaces_pid_seen_by(const struct host_proc *subject, const struct host_proc *viewer);

/* User id @uid of the daemon's namespace in that of @viewer; -1: none. No system call. */
u32 namespaces_uid_seen_by(u32 uid, const struct host_proc *viewer);

#endif
