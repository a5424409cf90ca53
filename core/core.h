/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that a host may include and call of the engine.
 *
 * A host opens a process, looks up the calling thread for each call, and passes in
 * ioctls whose argument it has copied. Where the C driver would sleep, the engine
 * returns BINDER_WOULD_BLOCK and the host waits: it parks the thread and calls
 * binder_resume() after host_wake(), a signal or a timeout. Calls of one thread never
 * overlap; calls of different threads may.
 *
 * Unless stated otherwise a function may sleep and is called with no lock held.
 */
#ifndef BINDER_CORE_H
#define BINDER_CORE_H

#include "common/abi.h"
#include "common/limits.h"
#include "common/result.h"
#include "host.h"

struct binder_context;
struct binder_proc;
struct binder_thread;

/* Called once, before the functions below. */
void binder_world_init(void);

/* ---- devices -------------------------------------------------------------- */

/*
 * A device named @name, at most BINDER_NAME_MAX bytes; the caller gets a reference.
 * NULL: no memory, or the name is too long.
 */
struct binder_context *binder_context_new(const char *name);
void binder_context_put(struct binder_context *context);

/* ---- opens ---------------------------------------------------------------- */

/*
 * Opens a device for the process described by @opener, which is passed to
 * host_proc_init(). -ENOMEM, or what host_proc_init() returns.
 */
int binder_open(struct binder_context *context, const void *opener, struct binder_proc **proc);
/*
 * A file descriptor of this open was closed: every waiting thread of the process returns
 * once (as the C driver's close()).
 */
void binder_flush(struct binder_proc *proc);
/* How many nodes, handles and buffers binder_release() would have to release now. */
u32 binder_release_cost(struct binder_proc *proc);
/* The open ends. No call of it is under way and none may follow. */
void binder_release(struct binder_proc *proc);
/*
 * The process mapped its receive buffer at @base; @size: bytes, used up to
 * BINDER_MAP_MAX_SIZE and rounded down to whole pages. -EBUSY: there is a mapping
 * already; -EINVAL: less than a page; -ENOMEM.
 */
int binder_mmap(struct binder_proc *proc, u64 base, size_t size);

void binder_proc_get(struct binder_proc *proc);
void binder_proc_put(struct binder_proc *proc);
struct host_proc *binder_proc_host(struct binder_proc *proc);
struct binder_proc *binder_proc_of_host(struct host_proc *host);
struct host_map *binder_proc_map(struct binder_proc *proc);

/* ---- threads -------------------------------------------------------------- */

/*
 * The thread @tid of @proc, created if it is not known; the caller gets a reference.
 * @opener is passed to host_thread_init(). NULL: no memory, or BINDER_MAX_THREADS.
 */
struct binder_thread *binder_thread_find_or_new(struct binder_proc *proc, s32 tid,
						const void *opener);
/*
 * The thread @tid of @proc without a reference, NULL if it is not known: for a host where
 * only the thread itself can end it during its call.
 */
struct binder_thread *binder_thread_find(struct binder_proc *proc, s32 tid);
void binder_thread_get(struct binder_thread *thread);
void binder_thread_put(struct binder_thread *thread);
/*
 * Drops a reference unless it is the last one. False: it is, and remains the caller's, which frees
 * the thread by binder_thread_put() where that suits it better.
 */
bool binder_thread_put_unless_last(struct binder_thread *thread);
struct host_thread *binder_thread_host(struct binder_thread *thread);
struct binder_thread *binder_thread_of_host(struct host_thread *host);
/*
 * After BINDER_AGAIN: the command with which the call goes on takes long and cannot be cut. A host
 * whose threads serve many clients has it done by one that keeps no others waiting.
 */
bool binder_thread_takes_long(const struct binder_thread *thread);
/* How long a call that returned BINDER_WOULD_BLOCK may wait, in ms; 0: without limit. */
u32 binder_thread_wait_timeout_ms(const struct binder_thread *thread);
/*
 * Stores the numbers of up to @max threads of @proc from @first on, in rising order;
 * returns how many. *@total: threads of the process.
 */
u32 binder_list_threads(struct binder_proc *proc, s32 first, s32 *tids, u32 max, u32 *total);

/* ---- calls ---------------------------------------------------------------- */

/*
 * What binder_ioctl() and binder_resume() return besides 0 and -errno (common/result.h):
 * BINDER_WOULD_BLOCK	wait for host_wake() or the timeout, then call binder_resume()
 * BINDER_RESTART	host_files_install() returned HOST_FDS_LATER: let the thread leave,
 *			install the files, and let it call again; the argument tells what
 *			was consumed so far
 * BINDER_AGAIN		a long command stream is not finished (BINDER_SLICE_COST); what
 *			was consumed is in the argument. Serve others, then call
 *			binder_resume(): RESUME_WOKEN continues; RESUME_INTERRUPTED, for
 *			a thread that is being killed, and RESUME_TIMED_OUT drop the
 *			rest with -EINTR
 */

/*
 * One ioctl. @arg: ABI_IOC_SIZE(cmd) bytes, copied in by the host if the command's
 * direction says so, and to be copied back likewise; for BINDER_WRITE_READ also when
 * an error is returned. @nonblock: O_NONBLOCK of the file. -EINVAL: unknown number
 * or size. 0, -errno or one of the results above.
 */
int binder_ioctl(struct binder_thread *thread, u32 cmd, void *arg, bool nonblock);
/* binder_ioctl() of BINDER_WRITE_READ. */
int binder_write_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock);

enum binder_resume_reason { RESUME_WOKEN, RESUME_INTERRUPTED, RESUME_TIMED_OUT };
/*
 * Continues the call of @thread that returned BINDER_WOULD_BLOCK or BINDER_AGAIN, with the
 * same @cmd and @arg; returns as binder_ioctl(). After BINDER_WOULD_BLOCK a spurious call
 * returns it again. Interrupted: -EINTR, unless there is something to return already. Timed out:
 * a read returns BR_NOOP if it has no work, as after binder_flush(); a command stream that is not
 * finished ends with -EINTR.
 */
int binder_resume(struct binder_thread *thread, u32 cmd, void *arg,
		  enum binder_resume_reason reason);
/* The thread polls its process from now on. True: a read would return at once (POLLIN). */
bool binder_poll(struct binder_thread *thread);

/* ---- memory pressure ------------------------------------------------------ */

/*
 * Returns up to @max idle buffer pages to the system; the result is their number. Waits
 * for no lock.
 */
size_t binder_shrink(size_t max);
/* Does what binder_shrink() does, for the opens for which @wanted() returns true. */
size_t binder_shrink_some(size_t max, bool (*wanted)(const struct host_proc *proc, void *arg),
			  void *arg);
/* How many there are; 0 also if a lock is taken. */
size_t binder_idle_pages(void);

/* ---- the state, for a host that hands the engine over (not in the module) ---- */

/*
 * All objects of the engine as a stream of records (docs/PORTING.md), written by one process and
 * restored by another, of the same version or of another one. The newest version of the stream that
 * is written and read, and the oldest. Each part that is not handed over is put back to where its
 * progress is known by the host; host/state.h is what it provides for its own objects.
 */
#ifndef BINDER_STATE_VERSION	/* tests have programs of other versions */
#define BINDER_STATE_VERSION 1
#define BINDER_STATE_OLDEST  1
#endif

/* A stream, in memory that the host frees by host_free(). */
struct binder_state {
	u8 *bytes;
	size_t size;
};

/*
 * Writes everything that exists, in version @version of the stream. The engine does not change
 * meanwhile: no call is under way, but those that the host keeps from returning to the engine from
 * one of its operations and leaves behind. Nothing is changed. Two streams of the same state are
 * equal. -ENOMEM; -EINVAL: no such version; then *@state is empty. May sleep.
 */
int binder_state_write(u32 version, struct binder_state *state);
/*
 * Restores what was written, into an empty world: after binder_world_init(), with no open, and with
 * the devices that the host has made. No call may begin before binder_state_settle(). 0; -ENOMEM;
 * the errno of an operation of host/state.h; -EINVAL: the stream is damaged, or of an unknown
 * version. Then a sentence was printed to @why, which may be NULL, and the world is of no use: the
 * process ends without another word to the engine. May sleep.
 */
int binder_state_restore(const void *bytes, size_t size, struct host_out *why);
/*
 * After binder_state_restore(), when it is certain that the writer is gone: releases what the calls
 * that were left behind held. A transaction that one of them was sending is undone; the caller
 * whose reply one of them was sending gets BR_DEAD_REPLY; what one of them was about to deliver is
 * queued again. May sleep.
 */
void binder_state_settle(void);

/* ---- reports: the text of binder_logs/, in the C driver's layout -------- */

/*
 * A report is made in slices, for a reader who reads it piece by piece: it may be as long as what
 * all processes may have, while each slice takes a short time. Each is consistent in itself, and
 * what lives from the first slice to the last is listed once. Between two slices a report keeps
 * no process or living node. The slices of one report must not overlap.
 */
enum binder_report_kind {
	REPORT_STATE,
	REPORT_STATS,
	REPORT_TRANSACTIONS,
	/* the same without the addresses that clients give their objects */
	REPORT_STATE_HASHED,
	REPORT_TRANSACTIONS_HASHED,
	REPORT_PROC,
};
struct binder_report;
/* @pid: the process of a REPORT_PROC, whose opens are all listed; else 0. NULL: no memory. */
struct binder_report *binder_report_new(enum binder_report_kind kind, s32 pid);
/* Prints the next slice, some 100 lines at most. False: there is none, nothing was printed. */
bool binder_report_next(struct binder_report *report, struct host_out *out);
void binder_report_free(struct binder_report *report);

/*
 * Has each node's line of all reports give its least priority, ` pri POLICY:PRIORITY`, where those
 * of Android's kernels have it. Off at first. To be called before the first report.
 */
void binder_report_show_priorities(bool show);

/* The two transaction logs, oldest entry first. */
void binder_report_transaction_log(struct host_out *out);
void binder_report_failed_transaction_log(struct host_out *out);

/* The name of command or return number @nr ("BC_TRANSACTION"), NULL if there is none. */
const char *binder_command_name(u32 nr);
const char *binder_return_name(u32 nr);

#endif
