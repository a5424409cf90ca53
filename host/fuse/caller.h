/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that call: who they are, and their memory.
 *
 * Everything is the kernel's word: the thread number comes with each request, the rest from /proc
 * while that thread waits inside the request, so it cannot have been recycled. All functions make
 * system calls: no engine lock may be held.
 */
#ifndef HOST_FUSE_CALLER_H
#define HOST_FUSE_CALLER_H

#include "host_types.h"

#include <sys/types.h>

/* Once, in the main thread: finds out what the system can tell. */
void caller_init(void);

/*
 * Finds out who @tid is and fills the identity part of @who (and its pidfd).
 * Returns 0, -ENOMEM, or -EACCES for a process that cannot be identified (0: it is not in a pid
 * namespace that the daemon can see).
 */
int caller_identify(pid_t tid, struct host_proc *who);

/* Frees what caller_identify() allocated. */
void caller_forget(struct host_proc *who);

/* What @who has allocated belongs to a copy of it from now on. */
void caller_moved(struct host_proc *who);

/* Is @tid a thread of the process @pid? */
bool caller_is_thread_of(pid_t tid, pid_t pid);

/* Is there a thread (of any process) of this number? */
bool caller_exists(pid_t tid);

/* Has the thread been killed, though it has not ended yet? */
bool caller_is_dying(pid_t tid);

/* The process of @tid; 0 if there is none. */
pid_t caller_process_of(pid_t tid);

/* The number by which the process of @viewer sees that of @subject; 0: not at all. */
s32 caller_pid_seen_by(const struct host_proc *subject, const struct host_proc *viewer);

/* User id @uid of the daemon's namespace, as the process of @viewer sees it; -1: not at all. */
u32 caller_uid_seen_by(u32 uid, const struct host_proc *viewer);

/*
 * Copies between the daemon and the memory of a thread that waits in a request. All or nothing: 0
 * or -EFAULT, or -ESRCH when it is being killed. The client decides how long this takes (its memory
 * may be backed by a file system of its own), so that the worker may be lost for a while: see
 * worker.h.
 */
int caller_read(pid_t tid, void *dst, u64 src, size_t size);
int caller_write(pid_t tid, u64 dst, const void *src, size_t size);

/* How a thread is scheduled: @prio is a nice value, or a real-time priority for FIFO and RR. */
void caller_get_priority(pid_t tid, u8 *policy, s8 *prio);
void caller_set_priority(struct host_thread *thread, u8 policy, s8 prio, bool check);

/*
 * The security context of a process, allocated, without its final NUL in @len; none on systems
 * whose security module gives processes no label.
 */
int caller_secctx(const struct host_proc *who, const char **ctx, u32 *len);

#endif
