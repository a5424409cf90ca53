/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Binder devices: FUSE requests on a device file become calls into the engine.
 */
#ifndef HOST_FUSE_DEVICE_REQUESTS_H
#define HOST_FUSE_DEVICE_REQUESTS_H

#include "host_types.h"

struct binder_context;
struct request;

/* Drops the pages of the inode @nodeid, before a bound open of it (bound_open.h). Sleeps. */
void device_drop_pages(u64 nodeid);

/* The requests on a device file; each is replied to. @context: the caller keeps a reference. */
void device_open(const struct request *request, struct binder_context *context, u64 open_id);
void device_ioctl(const struct request *request);
void device_poll(const struct request *request);
void device_read(const struct request *request);
void device_flush(const struct request *request);
void device_release(const struct request *request);

/* FUSE_INTERRUPT: a signal came for the caller of another request. */
void device_interrupt(const struct request *request);

/* Resumes the parked calls that the running worker has woken, and sends its poll notifications. */
void device_finish_woken(void);

/* Serves a call that was in the backlog or the slow lane (backlog.h), or a slice of it. */
void device_continue(struct fair_item *item);

/*
 * The process that opened @open_id is dead: its buffer cannot be used any more. True: the kernel
 * has not released the open yet, so that another process may have a descriptor.
 */
bool device_owner_died(u64 open_id);

/* Has the helper search for other processes that have a descriptor. */
void device_search(u64 open_id);

#endif
