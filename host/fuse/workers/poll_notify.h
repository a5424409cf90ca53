/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Notifying the kernel that a polled device has become readable (FUSE_NOTIFY_POLL).
 */
#ifndef HOST_FUSE_POLL_NOTIFY_H
#define HOST_FUSE_POLL_NOTIFY_H

#include "host_types.h"

/* The kernel wants one notification about the file of @proc, which it names @handle. */
void poll_notify_arm(struct host_proc *proc, u64 handle);

/* Queues the notification at the running worker. Any lock of the engine may be held. */
void poll_notify_queue(struct host_proc *proc);

/* Sends the notifications queued at the running worker. No lock held. */
void poll_notify_send(void);

#endif
