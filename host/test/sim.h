/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sim: the system that the test host simulates. A process is an array of bytes, a file is a
 * reference count, a wake-up is a flag; any host operation that can fail can be made to
 * fail.
 *
 * It also checks the engine. The program ends with a message if the engine calls an
 * operation that may sleep with a spinlock held, stores to a page without memory, takes a
 * lock twice, or puts a file too often.
 */
#ifndef ANYBINDER_TEST_SIM_H
#define ANYBINDER_TEST_SIM_H

#include "host_types.h"

/* Each operation of host.h marked [fails], and the injected error (0: it returns NULL). */
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
	X(FILE_GET, -EBUSY)                                                                        \
	X(FILES_INSTALL, -EMFILE)                                                                  \
	X(MAY_MANAGE, -EPERM)                                                                      \
	X(MAY_FREEZE, -EPERM)                                                                      \
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
#define SIM_BASE     0x10000000ull   /* address of the memory of each process */
#define SIM_MAP_BASE 0x7000000000ull /* address of the mapping of each process */

struct sim_proc {
	u64 id;		     /* of all, from 1 */
	struct sim_proc *next;
	struct host_proc *restored; /* by host_state_proc_restore() */
	s32 pid;
	u32 euid;
	bool may_rt;	     /* it may use real-time policies */
	bool may_not_freeze; /* others, unless it manages their device */
	struct host_priority opener; /* of the thread that opened the device */
	bool fds_later;	     /* host_files_install() returns HOST_FDS_LATER at first */
	bool dying;	     /* host_files_install() and host_map_copy() return -ESRCH */
	const char *secctx;  /* NULL: none */
	u8 *memory;	     /* SIM_MEMORY bytes at SIM_BASE */
	bool is_here;	     /* its memory and its map are this program's, at their addresses */
	u64 map_base;	     /* where the process has its map: SIM_MAP_BASE, if not here */
	size_t map_size;     /* 0: never mapped */
	bool unmapped;	     /* unmapped since */
	u8 *map;	     /* the content of the mapping */
	bool *present;	     /* for each page of it: it has memory */
	u64 holes;	     /* bit N: page N of the memory is not mapped */
	bool polled;	     /* host_wake_poll() was called */
	struct fiber *poller; /* woken by that, or NULL */
	struct host_file *fds[SIM_FDS];
	size_t charged;	     /* bytes that host_alloc() allocated for it */
	size_t max_charged;  /* more fails; 0: no limit */
};

struct sim_thread {
	struct sim_proc *proc;
	bool woken;
	struct fiber *fiber; /* woken by host_wake(), or NULL */
	struct host_priority *priority; /* never NULL */
	u64 later_cookie;		/* of the host_files_install() that was postponed */
};

/*
 * The last failure notice (host_notify_txn_failure()) of this thread of the system; NULL if
 * there was none since sim_forget_failures().
 */
struct host_txn_failure;
const struct host_txn_failure *sim_last_failure(void);
void sim_forget_failures(void);
void sim_keep_failure(const struct host_txn_failure *failure);

struct sim_stats {
	u64 calls;	    /* of operations that can fail */
	u64 count[SIM_OP_COUNT];
	u32 allocs;	    /* not freed */
	u32 files;	    /* not freed */
	u32 secctxs;	    /* not put */
	u32 populates, evicts, poll_wakes;
	bool failed;	    /* the failure of sim_arm() was injected */
	enum sim_op failed_op;
};

extern struct sim_stats sim_stats;

/* What host_shard() returns. */
extern u32 sim_shard;

/* The first SIM_STAGES records of stages. */
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

/* The last priorities that were told, if any are wanted. */
struct sim_priorities {
	u32 id;
	bool has_caller;
	struct host_priority caller, served;
};
extern struct sim_priorities sim_priorities;
extern bool sim_priorities_wanted;

/* The last data that was told, if any is wanted. */
struct sim_data {
	u32 count; /* transactions whose data was told */
	u32 id, size;
	bool to_clear;
	u8 bytes[HOST_TRACE_DATA_MAX];
	u8 objects[HOST_TRACE_DATA_MAX / 32];
};
extern struct sim_data sim_data;
extern bool sim_data_wanted, sim_data_to_clear_wanted;
void sim_data_record(const struct host_trace_data *data);

/*
 * Resets the counts, and lets the @nth call of @op from now on (from 1; SIM_ANY: of any
 * operation that can fail) fail; 0: none.
 */
void sim_arm(enum sim_op op, u64 nth);
/* Lets every @nth call of any operation fail, in place of sim_arm(); 0: none. */
void sim_fail_every(u64 nth);
/* Calls @then at the @nth call of any operation from now on; 0: never. */
void sim_interpose(u64 nth, void (*then)(void));
/* Calls @then before the @nth time that files of a receiver are closed. */
void sim_interpose_close(u64 nth, void (*then)(void));
void sim_closes(void);
/*
 * Lets each call of @op (SIM_ANY: of any operation) fail with a probability of 1 in
 * @one_in, by random numbers from @seed; 0: never.
 */
void sim_fail_sometimes(enum sim_op op, u32 one_in, u64 seed);
/* Nothing fails meanwhile, whatever was asked for. */
extern bool sim_never_fails;
const char *sim_op_name(enum sim_op op);
/* Counts a call of @op. Returns 0, or its error (1 if that is 0) if it is to fail. */
int sim_fails(enum sim_op op);

/*
 * From now on freed memory is filled with a pattern and kept until sim_heap_check(), which
 * ends the program if any of it was written to.
 */
void sim_heap_keep(void);
void sim_heap_check(void);
/* Frees all memory of the engine, as at the end of its process. */
void sim_heap_drop(void);

/* Creates a process with @map_size bytes mapped (0: none). */
struct sim_proc *sim_proc_new(s32 pid, u32 euid, size_t map_size);
/*
 * The same for a process that is part of this program: it passes addresses of its own, and has
 * mapped nothing yet; and its map, of @map_size bytes, which it has at @base and the engine stores
 * to at @map. Both must stay.
 */
struct sim_proc *sim_proc_new_here(s32 pid, u32 euid);
void sim_proc_map_here(struct sim_proc *proc, u64 base, u8 *map, size_t map_size);
void sim_proc_free(struct sim_proc *proc);

extern struct sim_proc *sim_procs;  /* all */
extern struct host_file *sim_files;
extern u64 sim_last_proc; /* their numbers */
extern u32 sim_last_file;
/* The process with this number; NULL: there is none. */
struct sim_proc *sim_proc_by_id(u64 id);

/*
 * For host/state.h (state.c): the only device, which has number 1, and how a thread is found. What
 * was written holds a reference to each file in it, until that is forgotten.
 */
struct binder_context;
extern struct binder_context *sim_device;
extern struct sim_thread *(*sim_thread_of)(struct sim_proc *proc, s32 tid);
void sim_state_forget(void);
/* Moves a stream from the memory of the engine to that of malloc(). */
struct binder_state;
void sim_state_keep(struct binder_state *state);
/*
 * All that the engine has is gone, as at the end of its process, and there is an empty world, with
 * another device if there was one.
 */
void sim_state_drop(void);
/*
 * Access to the memory of @proc as by the process itself; only sim_read() reaches its
 * mapping. -EFAULT: not mapped, or in a hole.
 */
int sim_read(const struct sim_proc *proc, void *dst, u64 src, size_t size);
int sim_write(struct sim_proc *proc, u64 dst, const void *src, size_t size);

/* Opens a new file in @proc and returns its number. */
u32 sim_file_open(struct sim_proc *proc);
/* The identity of the file with the number @fd; 0 if there is none. */
u32 sim_file_id(const struct sim_proc *proc, u32 fd);
void sim_file_close(struct sim_proc *proc, u32 fd);
void sim_file_put(struct host_file *file);

/* The command with which a client acknowledges a return code, with the same argument; 0: none. */
u32 sim_acknowledgement(u32 br);

/* For host_impl.h. */
void *sim_alloc(const struct host_proc *owner, enum sim_op op, size_t size);
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
