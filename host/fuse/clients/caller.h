/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Identity, memory and scheduling of calling threads and their processes.
 *
 * All of it comes from the kernel: the thread number from the request, the rest from /proc while
 * that thread is blocked in the request, so that the number cannot have been reused. The functions
 * make system calls unless they say otherwise: no engine lock may be held.
 */
#ifndef HOST_FUSE_CALLER_H
#define HOST_FUSE_CALLER_H

#include "host_types.h"

#include <sys/types.h>

/* Once, in the main thread: checks whether a security module gives processes contexts. */
void caller_init(void);

/*
 * Fills the identity fields of @proc, pidfd included, with those of the process of @tid. Returns 0,
 * -ENOMEM, -EMFILE, or -EACCES for a process that cannot be identified (@tid 0: it is in a pid
 * namespace that the daemon cannot see).
 */
int caller_identify(pid_t tid, struct host_proc *proc);

/*
 * The user that is charged for what the process of @tid does: @uid, that of its request, unless it
 * is in another user namespace than the daemon. Such a process counts as the user who made the
 * outermost of its namespaces, however many user ids it has in there; if that is root or the owner
 * of the mount, as a user of its own for each such namespace.
 */
u32 caller_charged_uid(pid_t tid, u32 uid);

/* Frees the resources that caller_identify() allocated. */
void caller_free_identity(struct host_proc *proc);

/* @proc was copied, and the copy owns those resources now. */
void caller_identity_moved(struct host_proc *proc);

/* Is @tid a thread of the process @pid? */
bool caller_is_thread_of(pid_t tid, pid_t pid);

/* Is there a thread (of any process) of this number? */
bool caller_exists(pid_t tid);

/* The processor on which a thread last ran, plus 1; 0: not known. */
u32 caller_core(pid_t tid);

/* Was the thread killed, though it has not exited yet? */
bool caller_is_dying(pid_t tid);

/* The process of @tid; 0 if there is none. */
pid_t caller_process_of(pid_t tid);

/*
 * May @tid, of root, see what processes say to each other? As for ptrace(2) it needs
 * CAP_SYS_PTRACE, which root of a container without a user namespace usually lacks; unless the
 * daemon is in the same container and lacks it, too.
 */
bool caller_may_overhear(pid_t tid);

/*
 * The thread @tid calls on the open of @proc for the first time: notes if it belongs to another
 * process than the opener's.
 */
void caller_note_thread(struct host_proc *proc, pid_t tid);

/*
 * The pid of @subject in the pid namespace of @viewer; 0: none, or it is dead. No system call
 * unless other processes use its open.
 */
s32 caller_pid_seen_by(const struct host_proc *subject, const struct host_proc *viewer);

/* User id @uid of the daemon's namespace in that of @viewer; -1: none. No system call. */
u32 caller_uid_seen_by(u32 uid, const struct host_proc *viewer);

/*
 * Copy between the daemon and the memory of a thread that is blocked in a request. Return 0,
 * -EFAULT, also after a partial copy, or -ESRCH if the thread is being killed. The client controls
 * how long a page fault takes (its memory may be backed by its own file system), so the worker may
 * get stuck here: see pool.h.
 */
int caller_read(pid_t tid, void *dst, u64 src, size_t size);
int caller_write(pid_t tid, u64 dst, const void *src, size_t size);

/*
 * Scheduling of a thread: @prio is a nice value, or a real-time priority for FIFO and RR. @check:
 * only as far as the thread's process may set it itself.
 */
void caller_get_priority(pid_t tid, u8 *policy, s8 *prio);
void caller_set_priority(struct host_thread *thread, u8 policy, s8 prio, bool check);

#endif
