/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world: processes and threads that call the driver, for tests of the whole engine. All run
 * on one thread of the system: a call that would block is parked, and world_run() resumes
 * the parked calls whose threads were woken, in the order in which the threads were
 * created, until none is left. So a test reads like a script and is deterministic.
 */
#ifndef ANYBINDER_TEST_WORLD_H
#define ANYBINDER_TEST_WORLD_H

#include "core.h"
#include "entities/context.h"
#include "entities/proc.h"
#include "entities/thread.h"
#include "entities/world.h"
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
	struct binder_thread *parked; /* of the call that waits; NULL: none does */
	u32 cmd;		      /* of the last ioctl */
	union {
		struct binder_write_read bwr;
		u8 bytes[64];
	} arg;
	int result;	 /* of the last call that returned */
	u64 out_at;	 /* address of WORLD_IO_SIZE bytes of commands in the process */
	size_t out_len;
	u64 in_at;	 /* the same for returns */
	u8 in[16 * WORLD_IO_SIZE]; /* returns that world_next() has not consumed */
	size_t in_len;
};

struct world_proc {
	struct sim_proc *sim;
	struct binder_proc *proc; /* NULL: dead, or opening failed */
	struct world_thread *threads[WORLD_THREADS];
	u32 nr_threads;
	u64 memory_used;
};

struct world {
	struct binder_context *context;
	struct world_proc *procs[WORLD_PROCS];
	u32 nr_procs;
};

/* Initialises the engine with one device. False: no memory (injected). */
bool world_begin(struct world *w);
/* Kills all processes. Returns false, with a message, if the engine has objects left. */
bool world_end(struct world *w);

/*
 * Creates a process that opens the device and has WORLD_MAP_SIZE bytes mapped; its ->proc is
 * NULL if opening failed.
 */
struct world_proc *world_proc(struct world *w);
struct world_thread *world_thread(struct world_proc *proc);
/* Interrupts the parked calls of the process and closes its device. */
void world_kill(struct world_proc *proc);

/*
 * Allocates @size bytes in the memory of @proc, aligned to 8 bytes and never freed, and
 * copies @data to them, unless that is NULL. Returns their address.
 */
u64 world_memory(struct world_proc *proc, const void *data, size_t size);

/*
 * Calls any ioctl. @arg has at most 64 bytes (NULL: zeros); it is written back unless the
 * call parks. Returns 0, -errno, or BINDER_WOULD_BLOCK: parked.
 */
int world_ioctl(struct world_thread *t, u32 cmd, void *arg);

/* Appends a command to the commands that the thread will write. */
void world_command(struct world_thread *t, u32 bc, const void *arg);
/*
 * Calls BINDER_WRITE_READ with the appended commands, and with a read buffer if @read.
 * Returns as world_ioctl(); world_next() has the returns.
 */
int world_write_read(struct world_thread *t, bool read);
/* The same with a read buffer and O_NONBLOCK. */
int world_poll_read(struct world_thread *t);

/* Resumes parked calls whose threads were woken, until there is none. */
void world_run(struct world *w);
/* Resumes a parked call because of a signal or a timeout. Returns as world_ioctl(). */
int world_resume(struct world_thread *t, enum binder_resume_reason why);

/*
 * Consumes and returns the next return code of the thread other than BR_NOOP; 0 if there is
 * none. Its argument is copied to @arg (at least 72 bytes), unless that is NULL.
 */
u32 world_next(struct world_thread *t, void *arg);

/* A transaction. */
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

/* Appends BC_TRANSACTION or BC_REPLY; copies the data into the memory of the process. */
void world_call(struct world_thread *t, const struct world_call *call);
void world_reply(struct world_thread *t, const struct world_call *call);
/* Appends BC_FREE_BUFFER for a received transaction. */
void world_free_buffer(struct world_thread *t, const struct binder_transaction_data *tr);

/* Writes the state of the engine, to memory that the caller frees. 0 or -errno. */
int world_write_state(struct binder_state *state);
/*
 * Frees what there is and restores what was written. The program ends with a message if that
 * fails, or if what is restored would be written otherwise.
 */
void world_restore_state(struct world *w, const struct binder_state *state);
/* Writes the state and restores it. */
void world_hand_over(struct world *w);
/* Frees what there is, so that only streams are left, whose damage may name any page. */
void world_forget(struct world *w);
/*
 * Restores a stream, which may be damaged, after world_forget(). What is accepted is settled, and
 * all its processes end, and have to leave nothing behind. False: it was refused.
 */
bool world_try_state(const u8 *bytes, size_t size);
/* Before each call and each resuming of one the world is handed over. */
extern bool world_hands_over;

/* Makes the process of the thread the context manager. 0 or -errno. */
int world_become_manager(struct world_thread *t);

#endif
