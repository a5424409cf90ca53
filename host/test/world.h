/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A world for tests of the whole engine: processes and threads that make driver
 * calls, all in one thread of execution.  A call that would block is parked, and
 * world_settle() goes on with those that were woken, in the order of their making,
 * until nobody has anything to do.  So a test reads like a script, and runs the
 * same way every time.
 */
#ifndef ANYBINDER_TEST_WORLD_H
#define ANYBINDER_TEST_WORLD_H

#include "common/translog.h"
#include "core.h"
#include "things/context.h"
#include "things/proc.h"
#include "things/thread.h"
#include "host.h"

#define WORLD_PROCS	8
#define WORLD_THREADS	8
#define WORLD_IO_SIZE	1024 /* bytes of commands or returns of one call */
#define WORLD_MAP_SIZE	((size_t)32 * 4096)

struct world_thread {
	struct world_proc *proc;
	struct sim_thread sim;
	struct host_priority priority;
	s32 tid;
	struct binder_thread *parked; /* its call waits, NULL: no call */
	u32 cmd;		      /* of that call */
	union {
		struct binder_write_read bwr;
		u8 bytes[64];
	} arg;
	int result;	 /* of the last call that ended */
	u64 out_at;	 /* in the process: WORLD_IO_SIZE bytes of commands */
	size_t out_len;
	u64 in_at;	 /* and of returns */
	u8 in[16 * WORLD_IO_SIZE]; /* returns not looked at yet */
	size_t in_len;
};

struct world_proc {
	struct sim_proc *sim;
	struct binder_proc *proc; /* NULL: dead, or never opened */
	struct world_thread *threads[WORLD_THREADS];
	u32 nr_threads;
	u64 memory_used;
};

struct world {
	struct binder_context *context;
	struct world_proc *procs[WORLD_PROCS];
	u32 nr_procs;
};

/* A new engine with one device.  False: no memory (injected). */
bool world_begin(struct world *w);
/* Everybody dies, and the engine must have nothing left; false (and a message) if
 * it has. */
bool world_end(struct world *w);

/* A process with the device open and WORLD_MAP_SIZE mapped; its proc is NULL if
 * opening failed. */
struct world_proc *world_proc(struct world *w);
struct world_thread *world_thread(struct world_proc *proc);
/* All its threads leave their calls and the device is closed. */
void world_kill(struct world_proc *proc);

/* Bytes in the memory of @proc, 8-byte aligned; never freed.  @data may be NULL. */
u64 world_memory(struct world_proc *proc, const void *data, size_t size);

/* Any ioctl; @arg in and out (of at most 64 bytes; NULL: zeros), not written back
 * for calls that park.
 * 0, -errno or BINDER_WOULD_BLOCK: parked. */
int world_ioctl(struct world_thread *t, u32 cmd, void *arg);

/* Appends a command to what the thread will write. */
void world_command(struct world_thread *t, u32 bc, const void *arg);
/* BINDER_WRITE_READ: what was appended, and room for returns if @read.  As
 * world_ioctl(); what was returned is then for world_next(). */
int world_write_read(struct world_thread *t, bool read);
/* The same with O_NONBLOCK. */
int world_poll_read(struct world_thread *t);

/* Goes on with every parked call whose thread was woken. */
void world_settle(struct world *w);
/* A signal, or the end of the waiting time, reaches a parked thread. */
int world_resume(struct world_thread *t, enum binder_resume_reason why);

/* The next return of the thread, its argument stored in *@arg (at least 72 bytes,
 * or NULL); BR_NOOP is passed over; 0 if there is none. */
u32 world_next(struct world_thread *t, void *arg);

/* What a transaction is made of. */
struct world_call {
	u32 handle;
	u32 code;
	u32 flags;
	const void *data;
	size_t size;
	const u64 *offsets;
	size_t nr_offsets;
	u64 buffers_size; /* not 0: the _SG form */
};

/* Appends BC_TRANSACTION or BC_REPLY, its data copied into the process. */
void world_call(struct world_thread *t, const struct world_call *call);
void world_reply(struct world_thread *t, const struct world_call *call);
/* Appends BC_FREE_BUFFER for what was received. */
void world_free_buffer(struct world_thread *t, const struct binder_transaction_data *tr);

/* The thread becomes the context manager of the device.  0 or -errno. */
int world_become_manager(struct world_thread *t);

#endif
