/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The door: all that a home may call of the engine.
 *
 * A home opens a process, looks up the calling thread for each call, and hands
 * in ioctls whose argument it has copied already.  Where the stock driver
 * would sleep, the engine returns BINDER_WOULD_BLOCK and the home waits: it
 * parks the thread, and calls binder_resume() when host_wake() has named it,
 * when a signal came, or when the time is up.  Calls of one thread never
 * overlap; calls of different threads may.
 */
#ifndef BINDER_CORE_H
#define BINDER_CORE_H

#include "common/abi.h"
#include "things/context.h"
#include "things/proc.h"
#include "reports/report.h"
#include "things/thread.h"

/* What binder_ioctl() and binder_resume() return besides 0 and -errno. */
#define BINDER_WOULD_BLOCK 1 /* wait for host_wake() or thread->wait_timeout_ms */
#define BINDER_RESTART	   2 /* host_files_install() said HOST_FDS_LATER: let the
			      * thread leave, do that, and let it call again;
			      * the argument tells what was consumed so far */

/* Once, before anything else. */
void binder_world_init(void);

/* A device of this name (at most BINDER_NAME_MAX bytes).  Counted; NULL: no
 * memory.  May sleep. */
struct binder_context *binder_context_new(const char *name);
void binder_context_put(struct binder_context *context);

/* Opens a device for the process that @opener tells of (handed to
 * host_proc_init()).  -ENOMEM, or what host_proc_init() returns.  May sleep. */
int binder_open(struct binder_context *context, const void *opener, struct binder_proc **proc);
/* Some descriptor of this open was closed: every thread that waits returns to
 * its process once (stock behaviour of close()).  May sleep. */
void binder_flush(struct binder_proc *proc);
/* The open is gone.  No call of it is under way, none may follow.  May sleep. */
void binder_release(struct binder_proc *proc);

/*
 * One ioctl.  @arg: ABI_IOC_SIZE(cmd) bytes, copied in by the home if the
 * command's direction says so, and to be copied back likewise, for
 * BINDER_WRITE_READ also when an error is returned.  A command of unknown
 * number or size is -EINVAL.  @nonblock: O_NONBLOCK of the file.
 * May sleep; 0, -errno, BINDER_WOULD_BLOCK or BINDER_RESTART.
 */
int binder_ioctl(struct binder_thread *thread, u32 cmd, void *arg, bool nonblock);

/* binder_ioctl() of BINDER_WRITE_READ, which nearly every call is. */
int binder_write_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock);

/* The ioctl number @nr of the table, 0 if there is none: for whoever wants to go
 * through them all. */
u32 binder_ioctl_code(u32 nr);

/* Why a call that would block goes on. */
enum binder_resume_reason { RESUME_WOKEN, RESUME_INTERRUPTED, RESUME_TIMED_OUT };
/* Goes on with the call of @thread that returned BINDER_WOULD_BLOCK, with the
 * same @cmd and @arg; returns as binder_ioctl().  Spurious calls are fine:
 * BINDER_WOULD_BLOCK again.  Interrupted: -EINTR, unless there is something to
 * return already. */
int binder_resume(struct binder_thread *thread, u32 cmd, void *arg,
		  enum binder_resume_reason why);

/* The thread watches its process by poll or epoll from now on.  True: a read
 * would return at once (POLLIN). */
bool binder_poll(struct binder_thread *thread);

/* Gives up to @max idle buffer pages of all processes back to the system; returns
 * how many.  Gives up rather than wait for anybody. */
size_t binder_shrink(size_t max);
/* How many there are; 0 also if somebody would have to be waited for. */
size_t binder_idle_pages(void);

#endif
