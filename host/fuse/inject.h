/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Putting file descriptors into another process that knows nothing of it.
 *
 * A receiver that is blocked in an ioctl on a file of ours is made to call, on its way
 * back to user mode, a few system calls of our choosing: a socket, a recvmsg that brings
 * the files in, and what tidies up after them. The kernel itself installs the files,
 * with the receiver's own limits and security checks, close-on-exec set, and at the
 * numbers a file opened just then would get (the lowest free ones, ascending).
 *
 * One thread does it all, because the kernel ties a traced thread to one tracing thread.
 * It waits for no receiver: each one is a small state machine, moved by the stops
 * that the kernel reports. A receiver that does not come to a stop in time fails its own
 * job and no other.
 *
 * What it needs: the right to ptrace the receiver (CAP_SYS_PTRACE, or the same user and a
 * ptrace_scope that allows it), a receiver that nobody traces already, and x86-64 (its 32-bit
 * programs included). inject_supported() tells about the machine, the job's errors about the rest.
 */
#ifndef ANYBINDER_INJECT_H
#define ANYBINDER_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct injector;

/* A receiver is given this long unless its job says otherwise. */
#define INJECT_TIMEOUT_MS 1000

/*
 * One visit to one receiver. The caller fills the first part, keeps the structure and the
 * arrays alive until armed() reports an error or done() is called, and may free them there.
 *
 * Order of events, all on the injector's thread:
 *   armed(job, 0)    the receiver is bound to stop when its ioctl returns: answer its
 *                    request now, with any result. (The kernel has told the FUSE daemon of an
 *                    INTERRUPT for that request meanwhile: it comes from us, ignore it.)
 *   armed(job, err)  nothing was done, nothing will be; the last call for this job.
 *   done(job, err)   after armed(job, 0), exactly once. On 0 the files are in and result_fds
 *                    is filled; the receiver is still stopped and goes on when done()
 *                    returns, so a re-executed ioctl finds a caller who knows the numbers.
 *                    On error no file is left in the receiver.
 * Both may call inject_submit(), though not for the same tid; neither may block.
 *
 * Errors: -ESRCH the receiver died or is gone, -EPERM no right to trace it (or somebody traces it
 * already), -EBUSY it is being visited already, -EMFILE its table of descriptors is full (one slot
 * more than nr_install is needed for a moment), -ETIMEDOUT it did not come to a stop, -ENOSYS it
 * did not enter the kernel the usual way, -EFAULT no scratch memory, -ECANCELED inject_stop(); any
 * other error is what a system call of the receiver gave (a seccomp filter's choice, for
 * instance).
 */
struct inject_job {
	pid_t tid;		/* the thread that is blocked in the ioctl */
	pid_t tgid;		/* its process */
	int nr_install;
	const int *files;	/* our own descriptors of the files to install */
	int *result_fds;	/* out: their numbers in the receiver */
	int nr_close;
	const int *closes;	/* the receiver's descriptors to close first; errors ignored */
	bool restart;		/* once let go, the receiver makes its ioctl again, whatever done()
				 * was told (except after -ENOSYS, and where the timeout found it
				 * not stopped yet: then the ioctl returns what you answered)
				 */
	int timeout_ms;		/* 0: INJECT_TIMEOUT_MS */
	void (*armed)(struct inject_job *job, int err);
	void (*done)(struct inject_job *job, int err);

	struct inject_job *next;	/* the injector's own, until done */
};

/* 0, or -ENOSYS where this machine's registers are unknown to us. */
int inject_supported(void);

/*
 * Starts the thread. Blocks SIGCHLD in the calling thread; threads created later inherit
 * that, so call it before creating others (a thread that has SIGCHLD unblocked may swallow
 * one and delay a job by up to 10 ms). Errors: -ENOSYS, -ENOMEM, -EMFILE, -EAGAIN.
 */
int inject_start(struct injector **out);

/* Queues a job. Any thread; does not sleep but for a short mutex. */
void inject_submit(struct injector *injector, struct inject_job *job);

/*
 * Lets every receiver under way finish (at most its timeout), answers -ECANCELED to jobs
 * still queued, ends the thread, frees everything. Sleeps. Not from a callback.
 */
void inject_stop(struct injector *injector);

#endif
