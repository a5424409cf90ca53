/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Installing file descriptors in another process without its cooperation. This runs in the helper
 * process (fds/helper/helper_inject.c).
 *
 * A receiver that is blocked in an ioctl on a file of the daemon is traced, and made to execute a
 * few system calls on its way back to user mode: a socket, a recvmsg that receives the files, and
 * the cleanup, which closes none of them unless the job fails when they are there. The kernel
 * installs the files itself, subject to the receiver's limits and security checks, with
 * close-on-exec set, and at the numbers that a file opened at that moment would get (the lowest
 * free ones, ascending).
 *
 * One thread does all the work, because only the thread that attached to a tracee may trace it. It
 * never waits for one receiver: each is a state machine driven by the stops that the kernel
 * reports. (On arm64 it waits up to 20 ms for one that does not sleep yet.) If a receiver does not
 * stop in time, only its own job fails.
 *
 * Requirements: permission to ptrace the receiver (CAP_SYS_PTRACE, or the same user and a
 * ptrace_scope that allows it), a receiver that is not traced yet, and x86-64 or arm64 (including
 * their 32-bit programs; inject_arch.h). inject_start() checks the machine, the errors of a job
 * cover the rest.
 */
#ifndef HOST_FUSE_INJECT_H
#define HOST_FUSE_INJECT_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct injector;

/*
 * Timeout of a job that does not set another. A receiver that lacks only a processor is waited for
 * longer, up to RUNNABLE_PATIENCE_MS.
 */
#define INJECT_TIMEOUT_MS 3000

/*
 * One job for one receiver. The caller sets all fields but the last, and keeps the structure and
 * the arrays allocated until armed() is called with an error or done() is called; it may free them
 * there.
 *
 * Order of events, all on the injector's thread:
 *   armed(job, 0)    the receiver will stop when its ioctl returns: reply to its request now, with
 *                    any result. (The kernel has sent an INTERRUPT for that request, caused by the
 *                    injector: ignore it.)
 *   armed(job, error)  nothing was done; the last call for this job.
 *   done(job, error)   after armed(job, 0), exactly once. On 0 the files are installed and
 *                    result_fds is filled; the receiver stays stopped until done() returns, so
 *                    that the numbers are known before it executes its ioctl again. On error no
 *                    file is left in the receiver.
 * Both may call inject_submit(), though not for the same tid; neither may block.
 *
 * Errors: -ESRCH the receiver exited, -EPERM no permission to trace it (or it is traced already),
 * -EBUSY a job for it is in progress, -EMFILE its descriptor table is full (one slot more than
 * nr_install is needed for a moment), -ETIMEDOUT it did not stop, -ENOSYS it did not enter the
 * kernel in a known way, -EFAULT no scratch memory; any other error is
 * that of a system call of the receiver (for example chosen by a seccomp filter).
 */
struct inject_job {
	pid_t tid;		/* the thread that is blocked in the ioctl */
	pid_t tgid;		/* its process */
	int nr_install;
	const int *files;	/* this process's descriptors of the files to install */
	int *result_fds;	/* out: their numbers in the receiver */
	int nr_close;
	const int *closes;	/* the receiver's descriptors to close first; errors ignored */
	bool restart;		/* the receiver executes its ioctl again, whatever done() was
				 * called with (except after -ENOSYS, and if it had not stopped by
				 * the timeout: then the ioctl returns the result of the reply)
				 */
	int timeout_ms;		/* 0: INJECT_TIMEOUT_MS */
	void (*armed)(struct inject_job *job, int error);
	void (*done)(struct inject_job *job, int error);

	struct bl_list in_queue;	/* used by the injector */
};

/*
 * Starts the thread. Blocks SIGCHLD in the calling thread; threads created later inherit that, so
 * it must be called before others are created (a thread with SIGCHLD unblocked may receive one
 * instead and delay a job by up to 10 ms). Errors: -ENOSYS (the architecture is not supported),
 * -ENOMEM, -EMFILE, -EAGAIN.
 */
int inject_start(struct injector **out);

/* Queues a job. Any thread; sleeps only for a short mutex. */
void inject_submit(struct injector *injector, struct inject_job *job);

/* Has the injector left its last receiver, and closed what it got from there after done()? */
bool inject_is_idle(const struct injector *injector);

#endif
