/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watcher: one thread that waits for events that come with no request: the death of a process,
 * a deadline, a stuck worker, memory pressure. It sleeps while nothing of the kind is expected.
 *
 * The functions may be called from any thread, with no engine lock held.
 */
#ifndef HOST_FUSE_WATCH_H
#define HOST_FUSE_WATCH_H

#include "host_types.h"

struct worker;

/* The interval of the checks for stuck workers. */
#define WATCH_CHECK_MS 20

/* What the watcher calls, in its own thread. */
struct watch_handlers {
	/* The process that opened @open_id died. True: other processes may have it open. */
	bool (*owner_died)(u64 open_id);
	/* Searches for processes that have @open_id open (device_requests.h). */
	void (*search)(u64 open_id);
	/* Finishes the work queued at @worker. */
	void (*hand_over)(struct worker *worker);
	/* Checks for stuck workers; false: none is busy. */
	bool (*check_workers)(void);
};

/* Starts the thread. False: no descriptors or no memory. */
bool watch_start(const struct watch_handlers *handlers);

/* Calls owner_died() when the process of @pidfd, which opened @open_id, dies. */
void watch_add(int pidfd, u64 open_id);
void watch_remove(int pidfd);

/* The owner of @open_id is dead and a descriptor was closed: has others searched for. */
void watch_check_holders(u64 open_id);

/* A call is about to be parked until @deadline_ns (monotonic). */
void watch_deadline(u64 deadline_ns);
/* That call is about to be replied to. */
void watch_deadline_over(void);

/* A worker became busy: has check_workers() called until none is. Cheap if one was already. */
void watch_arm_check(void);

#endif
