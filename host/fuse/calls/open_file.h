/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open device files: one struct open_file for each open(2) of a device.
 *
 * It has two counts. `calls` counts uses by calls, plus one until the open ends: when it is zero
 * for the first time the binder_proc is released. `refs` counts one for `calls` and one for the
 * kernel's handle, which is valid until RELEASE. If the open was ended earlier, because its owner
 * is dead, calls may still come, and find it ended.
 */
#ifndef HOST_FUSE_OPEN_FILE_H
#define HOST_FUSE_OPEN_FILE_H

#include "host_types.h"
#include "workers/worker.h"

struct binder_context;
struct binder_proc;
struct request;

struct open_file {
	struct binder_proc *proc;
	struct host_proc *host;		/* of proc */
	struct open_file *next;		/* in its bucket */
	u64 open_id;			/* its key; never reused */
	u64 nodeid;			/* that was opened */
	u64 handle;			/* the kernel's (handles.h); removed by RELEASE */
	u32 uid;			/* charged for it */
	bool nonblock;			/* O_NONBLOCK at open(2); later changes are not visible */
	bool listed;			/* in its bucket */
	atomic_int calls;
	atomic_int refs;
	atomic_bool ended;
	atomic_bool released;		/* `calls` was zero */
	atomic_bool orphan;		/* the owner is dead, but a descriptor is still open */
	atomic_uint reap_at;		/* see call_reap_threads() */
	struct work release;		/* of the binder_proc */
	u32 saved;			/* by which hand-over (handover/) */
	atomic_int stuck;		/* workers that are stuck in this client's memory */
};

void open_files_init(void);

/*
 * Opens @context for the caller of the OPEN @request, charges its user and watches its process.
 * @open_id is the inode, or else the open is bound (bound_open.h). Returns 0, -EMFILE, -ENOMEM,
 * -EACCES, -EPERM (bound_buffer.h).
 */
int open_file_new(const struct request *request, struct binder_context *context, u64 open_id,
		  struct open_file **out);

/*
 * An open that was taken over: its proc and host_proc are known, and what it is charged for is
 * charged. It begins again, or, if it had ended, is released by open_file_leave().
 */
void open_file_restore(struct open_file *file);

/* Begins a use of @file by a call. False: the open has ended. */
bool open_file_enter(struct open_file *file);
/*
 * Ends a use of @file. The last use leaves the release of the binder_proc to the running worker
 * (worker.h).
 */
void open_file_leave(struct open_file *file);

/*
 * The processes of other opens of the inode of @file; at most @max of them. Returns how many, or 0
 * if there are more.
 */
u32 open_file_owners(const struct open_file *file, s32 *pids, u32 max);

/* Does the process of @file have other opens of the same inode? */
bool open_file_has_siblings(const struct open_file *file);

/* The open @open_id, as after open_file_enter(); NULL: none. */
struct open_file *open_file_find(u64 open_id);

/*
 * Ends the open: no call can begin any more, and calls that are not parked are not parked again.
 * False: it has ended before. Else the caller completes the parked calls, then calls
 * open_file_leave().
 */
bool open_file_end(struct open_file *file);
/* After open_file_end(): are calls under way? */
bool open_file_has_calls(const struct open_file *file);

/* RELEASE: the kernel's handle is invalid from now on. */
void open_file_put(struct open_file *file);

/*
 * A worker got stuck in the memory of this open's client: charges the client until
 * open_file_remove_stuck(). NULL: there is no such open.
 */
struct open_file *open_file_add_stuck(u64 open_id);
void open_file_remove_stuck(struct open_file *file);

/* A worker was found waiting in the memory of this open's client for @ms. */
void open_file_charge_time(u64 open_id, unsigned int ms);

/* Has the client, or its user, so many stuck workers that no more are risked for it? */
bool open_file_is_overdrawn(const struct open_file *file);

/* May a worker wait for what the client of the open @open_id can delay? */
bool open_file_may_delay(u64 open_id);

#endif
