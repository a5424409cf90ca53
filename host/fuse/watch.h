/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watcher: one thread that waits for what no request tells: the death of a process, a
 * deadline, a worker that got stuck. It sleeps when there is nothing of the kind.
 *
 * Functions may be called from any thread, with no engine lock held.
 */
#ifndef HOST_FUSE_WATCH_H
#define HOST_FUSE_WATCH_H

#include "host_types.h"

/* Starts the thread. False: no descriptors or no memory. */
bool watch_start(void);

/* Tells device_owner_died() when the process behind @pidfd, who opened @nodeid, is dead. */
void watch_add(int pidfd, u64 nodeid);
void watch_remove(int pidfd);

/*
 * The owner of @nodeid is dead, and a descriptor was closed somewhere: looks who still holds one.
 */
void watch_check_holders(u64 nodeid);

/* A call is about to be parked that must go on at @deadline_ns (monotonic). */
void watch_deadline(u64 deadline_ns);
/* That call is about to be answered. */
void watch_deadline_over(void);


/*
 * A worker has begun to work: have worker_check() called for as long as any works. Cheap if it is.
 */
void watch_arm_check(void);

#endif
