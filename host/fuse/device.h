/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Binder devices: what FUSE says about a device file, told to the engine, and back.
 */
#ifndef HOST_FUSE_DEVICE_H
#define HOST_FUSE_DEVICE_H

#include "host_types.h"
#include "session.h"

struct binder_context;
struct binder_proc;

/* One open of a device. */
struct binder_file {
	struct binder_proc *proc;
	struct host_proc *host;		/* of proc */
	struct binder_file *next;	/* in its bucket of open files */
	u64 nodeid;
	u32 uid;			/* who is charged for it */
	bool nonblock;			/* O_NONBLOCK at open(2); later changes cannot be seen */
	bool listed;			/* in its bucket */
	atomic_int calls;		/* in flight or parked, plus 1 until the open is over */
	atomic_int refs;		/* the kernel's handle, and 1 while calls > 0 */
	atomic_bool ending;		/* the open is over, though calls may be in flight */
	atomic_bool orphan;		/* its owner is dead, but others hold the descriptor */
	atomic_uint reap_at;		/* threads at which dead ones are looked for */
	atomic_int stuck;		/* workers held up by this client's memory */
};

/*
 * The kernel's handle of an open device is the address of its struct with the lowest bit set,
 * which tells it from the handles of other files.
 */
static inline bool device_is_handle(uint64_t handle)
{
	return handle & 1;
}

static inline struct binder_file *device_of_handle(uint64_t handle)
{
	return (struct binder_file *)(uintptr_t)(handle & ~(uint64_t)1);
}

/*
 * The requests on a device file. Each answers. @context: the device that is opened, counted by the
 * caller for the duration of this call.
 */
void device_open(const struct request *request, struct binder_context *context);
void device_ioctl(const struct request *request);
void device_poll(const struct request *request);
void device_read(const struct request *request);
void device_flush(const struct request *request);
void device_release(const struct request *request);

/* FUSE_INTERRUPT: a signal came for a request that may be parked. Has no answer of its own. */
void device_interrupt(const struct request *request);

/* Finishes the parked calls that the running worker has woken, and sends its poll notices. */
void device_finish_woken(void);

/* Goes on with the call of @thread, which the running thread owns; @why: binder_resume_reason. */
void device_resume(struct host_thread *thread, int why);

/* Answers the call of @thread, which the running thread owns, with @result. */
void device_answer(struct host_thread *thread, int result);

/*
 * The owner of the open is dead: its buffer is gone.
 * True: the kernel has not yet released the open, so somebody else may hold the descriptor.
 */
bool device_owner_died(u64 nodeid);

/*
 * The owner is dead and nobody holds the descriptor: the open is over, though a mapping inherited
 * by fork keeps the kernel from saying so.
 */
void device_end(u64 nodeid);

/*
 * A worker got stuck in the memory of this open's client: charges the client for it until
 * device_unstick(). NULL: there is no such open.
 */
struct binder_file *device_stick(u64 nodeid);
void device_unstick(struct binder_file *file);

#endif
