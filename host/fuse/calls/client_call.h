/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One call: an ioctl on a device, from its request to its reply.
 *
 * It is owned by one thread of the daemon at a time, the only one that may use these functions. The
 * ownership ends with a successful call_park() or with the reply.
 */
#ifndef HOST_FUSE_CLIENT_CALL_H
#define HOST_FUSE_CLIENT_CALL_H

#include "calls/park.h"
#include "host_types.h"

struct binder_proc;
struct open_file;
struct request;

/*
 * Begins the call of @thread with the ioctl @request, whose argument fits; takes over the caller's
 * reference to the thread and its use of the open (open_file_enter()). False: the thread has a call
 * already.
 */
bool call_begin(struct host_thread *thread, const struct request *request);

/* Parks the call, which the engine would block; see park_wait(). */
enum park_result call_park(struct host_thread *thread);

/* Drops a reference to @thread. After the last one, the running worker frees it later. */
void call_put_thread(struct host_thread *thread);

/* Replies with @result and ends the call: @thread may be gone afterwards. */
void call_reply(struct host_thread *thread, int result);

/* Ends the open of @file, if that was not done before, and fails its parked calls with -EBADF. */
void call_end_open_file(struct open_file *file);
/* Ends the open @open_id, unless it was released meanwhile. */
void call_end_open(u64 open_id);

/*
 * During a call of @proc: removes the threads that exited without BINDER_THREAD_EXIT, if @proc has
 * at least *@reap_at threads; sets that number for the next time. No lock may be held.
 */
void call_reap_threads(struct binder_proc *proc, atomic_uint *reap_at);

#endif
