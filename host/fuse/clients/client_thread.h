/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread of a client, by its number. While the thread is blocked in a request the number cannot
 * be that of another. The functions make system calls: no engine lock may be held.
 */
#ifndef HOST_FUSE_CLIENT_THREAD_H
#define HOST_FUSE_CLIENT_THREAD_H

#include "host_types.h"

#include <sys/types.h>

/*
 * Reads /proc/@tid/@name into @buffer of @size bytes, which ends with 0. Returns how many bytes, or
 * -1.
 */
ssize_t client_thread_read_file(pid_t tid, const char *name, char *buffer, size_t size);

/* Returns what follows @key in the line of @text that begins with it; NULL: there is none. */
const char *client_thread_line(const char *text, const char *key);

/* Is there a thread (of any process) of this number? */
bool client_thread_exists(pid_t tid);

/* Was the thread killed, though it has not exited yet? */
bool client_thread_is_dying(pid_t tid);

/*
 * The process of @thread; 0 if there is none. It is not that of the opener if another process has
 * inherited the descriptor of the device.
 */
pid_t client_thread_pid(const struct host_thread *thread);

/* The processor on which the thread last ran, plus 1; 0: not known. */
u32 client_thread_core(pid_t tid);

/*
 * May @tid, of root, see what processes say to each other? As for ptrace(2) it needs
 * CAP_SYS_PTRACE, which root of a container without a user namespace usually lacks; unless the
 * daemon is in the same container and lacks it, too.
 */
bool client_thread_may_overhear(pid_t tid);

/*
 * The thread @tid calls on the open of @proc for the first time: notes if it belongs to another
 * process than the opener's.
 */
void client_thread_note(struct host_proc *proc, pid_t tid);

/* Is the process that opened @proc dead, and was waited for? Its number may have a new owner. */
bool client_thread_opener_is_gone(const struct host_proc *proc);

/*
 * Copies between the daemon and the memory of a thread that is blocked in a request. Return 0,
 * -EFAULT, also after a partial copy, or -ESRCH if the thread is being killed. The client controls
 * how long a page fault takes (its memory may be backed by its own file system), so the worker may
 * get stuck here: see worker_pool.h.
 */
int client_thread_read(pid_t tid, void *dst, u64 src, size_t size);
int client_thread_write(pid_t tid, u64 dst, const void *src, size_t size);

/* @prio is a nice value, or a real-time priority for FIFO and RR. */
void client_thread_get_priority(pid_t tid, u8 *policy, s8 *prio);
/* @check: only as far as the thread's process may set it itself. */
void client_thread_set_priority(struct host_thread *thread, u8 policy, s8 prio, bool check);

#endif
