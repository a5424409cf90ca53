/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The system that the test home pretends to be: processes that are byte arrays,
 * files that are counters, threads that are told to wake up, and switches that
 * make any host call that may fail do so.
 *
 * It also watches the engine: an operation that may sleep while a spinlock is
 * held, a store to a page without memory, a lock taken twice, a file dropped
 * once too often: each ends the program with a message.
 */
#ifndef ANYBINDER_TEST_SIM_H
#define ANYBINDER_TEST_SIM_H

#include "host_types.h"

/* Every operation of host.h marked [fails]: name, and the error that it is made
 * to fail with (0: it returns NULL). */
#define SIM_OPS(X)                                                                                 \
	X(ALLOC, 0)                                                                                \
	X(ALLOC_LARGE, 0)                                                                          \
	X(PROC_INIT, -ENOMEM)                                                                      \
	X(THREAD_INIT, -ENOMEM)                                                                    \
	X(READ_CALLER, -EFAULT)                                                                    \
	X(WRITE_CALLER, -EFAULT)                                                                   \
	X(MAP_FIND, -ESRCH)                                                                        \
	X(MAP_POPULATE, -ENOMEM)                                                                   \
	X(MAP_WRITE, -EFAULT)                                                                      \
	X(MAP_COPY, -EFAULT)                                                                       \
	X(FILE_GET, -EMFILE)                                                                       \
	X(FILES_INSTALL, -EMFILE)                                                                  \
	X(MAY_MANAGE, -EPERM)                                                                      \
	X(MAY_TRANSACT, -EPERM)                                                                    \
	X(MAY_TRANSFER_OBJECT, -EPERM)                                                             \
	X(MAY_TRANSFER_FILE, -EPERM)                                                               \
	X(SECCTX_GET, -EINVAL)

enum sim_op {
#define SIM_OP_ENUM(name, err) SIM_##name,
	SIM_OPS(SIM_OP_ENUM)
#undef SIM_OP_ENUM
	SIM_OP_COUNT,
	SIM_ANY = SIM_OP_COUNT,
};

#define SIM_FDS	     64
#define SIM_MEMORY   ((size_t)256 << 10)
#define SIM_BASE     0x10000000ull   /* of a process's ordinary memory */
#define SIM_MAP_BASE 0x7000000000ull /* where a process maps its buffer */

struct sim_proc {
	s32 pid;
	u32 euid;
	bool may_rt;	     /* real-time policies are allowed */
	struct host_priority opener;
	bool fds_later;	     /* host_files_install() says so the first time */
	bool dying;	     /* host_files_install(), host_map_copy() find it dead */
	const char *secctx;  /* NULL: none */
	u8 *memory;	     /* SIM_MEMORY bytes at SIM_BASE */
	size_t map_size;     /* 0: not mapped */
	bool unmapped;	     /* it was, and is gone */
	u8 *map;	     /* what the engine stored */
	bool *present;	     /* has the page memory? */
	u64 holes;	     /* bit N: page N of the memory is not mapped */
	bool polled;	     /* host_wake_poll() was called */
	struct fiber *poller; /* whom that wakes, or NULL */
	struct host_file *fds[SIM_FDS];
};

struct sim_thread {
	struct sim_proc *proc;
	bool woken;
	struct fiber *fiber; /* whom host_wake() wakes, or NULL */
	struct host_priority *priority; /* never NULL */
	u64 later_cookie;		/* host_files_install() was put off */
};

/* The last that this thread of execution was told of by
 * host_notify_txn_failure(); NULL: nothing since sim_forget_failures(). */
struct host_txn_failure;
const struct host_txn_failure *sim_last_failure(void);
void sim_forget_failures(void);
void sim_keep_failure(const struct host_txn_failure *failure);

struct sim_stats {
	u64 calls;	    /* of operations that may fail */
	u64 count[SIM_OP_COUNT];
	u32 allocs;	    /* not freed yet */
	u32 files;	    /* that exist */
	u32 secctxs;	    /* not put yet */
	u32 populates, evicts, poll_wakes;
	bool failed;	    /* the armed failure happened */
	enum sim_op failed_op;
};

extern struct sim_stats sim_stats;

/* What host_is_counting_locks() says. */
extern bool sim_counting_locks;

/* The records of stages, from the first on, while there is room for more. */
#define SIM_STAGES 64
struct sim_stage {
	u32 stage; /* enum host_stage */
	u32 id, answers;
	s32 pid, tid;
};
extern struct sim_stage sim_stages[SIM_STAGES];
extern u32 sim_nr_stages;
extern bool sim_stages_wanted;
void sim_stage_record(const struct sim_stage *stage);

/* What host_locking_is_global() says; only changed between tests. */
extern bool sim_locking_global;
/* The mutex of host_global_lock(). */
extern struct sim_lock sim_global_lock;

/* Counts from zero again, and makes the @nth call (from 1) of @op (SIM_ANY: of
 * all that may fail) fail; 0: none. */
void sim_arm(enum sim_op op, u64 nth);
/* Instead: every @nth call of any of them fails, until told 0. */
void sim_fail_every(u64 nth);
/* Instead, or besides: each call of @op (SIM_ANY: all of them) fails once in @one_in,
 * by dice that begin with @seed; 0: never. */
void sim_fail_sometimes(enum sim_op op, u32 one_in, u64 seed);
const char *sim_op_name(enum sim_op op);
/* Counts a call; 0, or the error if it is the one that must fail (0: 1). */
int sim_fails(enum sim_op op);

/* From now on what the engine frees is kept, filled with a pattern, until
 * sim_heap_check(), which ends the program if somebody has written there since. */
void sim_heap_keep(void);
void sim_heap_check(void);

/* A process with @map_size bytes mapped (0: none). */
struct sim_proc *sim_proc_new(s32 pid, u32 euid, size_t map_size);
void sim_proc_free(struct sim_proc *proc);

/* A process's own view of its memory, its map included.  -EFAULT, also in a hole. */
int sim_read(const struct sim_proc *proc, void *dst, u64 src, size_t size);
int sim_write(struct sim_proc *proc, u64 dst, const void *src, size_t size);

/* A new file in the table of @proc; its number. */
u32 sim_file_open(struct sim_proc *proc);
/* Which file @fd is, 0 if none. */
u32 sim_file_id(const struct sim_proc *proc, u32 fd);
void sim_file_close(struct sim_proc *proc, u32 fd);
void sim_file_put(struct host_file *file);

/* What host_impl.h stands on. */
void *sim_alloc(enum sim_op op, size_t size);
void sim_free(void *ptr);
void sim_may_sleep(const char *what);
void sim_lock(struct sim_lock *lock, bool spin);
bool sim_trylock(struct sim_lock *lock, bool spin);
void sim_unlock(struct sim_lock *lock, bool spin);
void sim_lock_init(struct sim_lock *lock);
void sim_lock_destroy(struct sim_lock *lock);
u32 *sim_lock_ranks(void);
u8 *sim_map_range(struct sim_proc *proc, size_t off, size_t size);
int sim_map_populate(struct sim_proc *proc, size_t first, size_t nr);
void sim_map_evict(struct sim_proc *proc, size_t first, size_t nr);
int sim_file_get(struct sim_proc *proc, u32 fd, struct host_file **file);
int sim_files_install(struct sim_proc *proc, struct host_file **files, u32 nr, u32 *fds);
void sim_out(struct host_out *out, const char *fmt, __builtin_va_list args);
void sim_log(const char *fmt, __builtin_va_list args);
extern bool sim_verbose;

#endif
