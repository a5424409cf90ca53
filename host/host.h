/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract between the engine (core/) and a host: the system that runs it.
 *
 * Every operation states what the engine wants, not how a system does it, so
 * that a kernel, a daemon and a simulator can each implement it in their own
 * way. A host provides two headers on the include path:
 *
 *   host_types.h  the types named below, the integer types (u8 .. u64, s8,
 *		   s32, s64, bool, size_t, NULL), the errno numbers and the
 *		   marked accesses;
 *   host_impl.h   `static inline` definitions of all operations below and, as
 *		   far as it wants them, of those in trace.h and measure.h.
 *
 * A missing or mistyped operation is a compile error. docs/PORTING.md tells
 * how to write a host.
 *
 * In the comments: [sleeps] the operation may sleep, the engine calls it with
 * no spinlock held; [atomic] it must not sleep, the engine may hold any of its
 * locks; [fails] how it may fail. "errno" means a negative errno number.
 *
 * Types of a host, opaque to the engine:
 *   struct host_spinlock	a lock held for a short time, never over an
 *				operation that sleeps
 *   struct host_pi_mutex	a lock under which a thread may sleep; its owner
 *				inherits the priority of the waiters
 *   struct host_atomic		a 32-bit integer
 *   struct host_proc		the host's data of one open of a device; embedded
 *				in struct binder_proc as `host`
 *   struct host_thread		the host's data of a calling thread; embedded in
 *				struct binder_thread as `host`
 *   struct host_map		the pages behind one receive buffer; embedded in
 *				struct binder_alloc as `map`
 *   struct host_file		an open file in transit between processes; only
 *				handled by pointer
 *   struct host_out		the destination of a text report
 */
#ifndef BINDER_HOST_H
#define BINDER_HOST_H

#include "host_types.h"

/* ---- memory ---------------------------------------------------------- */

/*
 * Zeroed memory of @size bytes, freed by host_free(). @owner: the open that it is for, or NULL;
 * a host may bound what the opens of a user have together. [sleeps] [fails: NULL]
 */
static inline void *host_alloc(const struct host_proc *owner, size_t size);
/* host_alloc() for sizes up to several MiB. [sleeps] [fails: NULL] */
static inline void *host_alloc_large(const struct host_proc *owner, size_t size);
/* Frees memory of either function; NULL is allowed. [sleeps] */
static inline void host_free(void *ptr);
/*
 * HOST_PAGE_SIZE, which host_types.h defines: the bytes of a page of a mapping, a power of two that
 * does not change while the host runs.
 *
 * HOST_LINE_ALIGNED, which host_types.h may define: an attribute of a member that is to begin a
 * cache line, in a host whose host_alloc() aligns structures of at least that size. Nothing but
 * speed depends on it.
 */

/*
 * HOST_HANDS_OVER, which host_types.h may define: the host hands the engine over (state.h), whose
 * objects then have what only core/state/ looks at.
 */

static inline void host_memcpy(void *dst, const void *src, size_t size);
static inline void host_memset(void *dst, int c, size_t size);
static inline int host_memcmp(const void *a, const void *b, size_t size);
static inline size_t host_strlen(const char *s);

/* ---- locks and atomics ------------------------------------------------ */

/*
 * @class: the rank of the lock (common/lock.h), for the host's lock checker.
 * Locks of one class are never nested.
 */
static inline void host_spin_init(struct host_spinlock *lock, u32 class);
static inline void host_spin_lock(struct host_spinlock *lock);   /* [atomic] */
static inline void host_spin_unlock(struct host_spinlock *lock); /* [atomic] */
static inline void host_spin_destroy(struct host_spinlock *lock);
#ifdef BINDER_DEBUG
/*
 * Where the ranks of the locks held by the running thread are kept, one word per
 * thread of execution, for the rank checker of common/lock.h. [atomic]
 */
static inline u32 *host_lock_ranks(void);
#endif

/*
 * The owner runs at the priority of the most urgent waiter, as far as the system
 * supports that.
 */
static inline void host_pi_mutex_init(struct host_pi_mutex *lock, u32 class);
static inline void host_pi_mutex_lock(struct host_pi_mutex *lock); /* [sleeps] */
/* Takes the lock without waiting. [fails: false, another thread has it] */
static inline bool host_pi_mutex_trylock(struct host_pi_mutex *lock);
static inline void host_pi_mutex_unlock(struct host_pi_mutex *lock);
static inline void host_pi_mutex_destroy(struct host_pi_mutex *lock);

/*
 * Marked accesses: loads and stores of one aligned word of at most 64 bits, of any type, that
 * other threads may load or store at the same time. Macros, therefore defined by host_types.h.
 *   host_read_once(x), host_write_once(x, v)	not ordered
 *   host_load_acquire(ptr)			before all accesses that follow it
 *   host_store_release(ptr, v)		after all accesses that precede it
 *   host_xchg(ptr, v)				returns the former value; fully ordered
 * [atomic]
 */
#if !defined(host_read_once) || !defined(host_write_once) || !defined(host_load_acquire) || \
	!defined(host_store_release) || !defined(host_xchg)
#error "host_types.h has to define the marked accesses"
#endif

/* add_return is fully ordered; read, set and add are not ordered. [atomic] */
static inline s32 host_atomic_read(const struct host_atomic *a);
static inline void host_atomic_set(struct host_atomic *a, s32 value);
static inline s32 host_atomic_add_return(struct host_atomic *a, s32 delta);
static inline void host_atomic_add(struct host_atomic *a, s32 delta);

/* ---- waking ----------------------------------------------------------- */

/*
 * @thread, whose call returned BINDER_WOULD_BLOCK or is about to, has something
 * to do: the host calls binder_resume() for it soon. A wake-up is never lost: if
 * the thread is not parked yet, parking it must notice. @sync: the waker is about
 * to sleep, so the woken thread may run on the waker's CPU. [atomic]
 */
static inline void host_wake(struct host_thread *thread, bool sync);
/*
 * Work was queued for a process or thread that may be watched by poll or epoll.
 * @thread: a live thread that has polled. [atomic]
 */
static inline void host_wake_poll(struct host_proc *proc, struct host_thread *thread);

/* ---- opens and threads ------------------------------------------------ */

/*
 * Called by binder_open() and binder_thread_find_or_new() with the @opener that
 * the host passed to them, before the structure is visible to others; undone by
 * the destroy functions after the last reference is gone. host_proc_init() also
 * initialises the map of the receive buffer. [sleeps] [fails: errno]
 */
static inline int host_proc_init(struct host_proc *proc, struct host_map *map, const void *opener);
static inline void host_proc_destroy(struct host_proc *proc, struct host_map *map);
static inline int host_thread_init(struct host_thread *thread, struct host_proc *proc,
				   const void *opener);
static inline void host_thread_destroy(struct host_thread *thread);

/* ---- identity --------------------------------------------------------- */

/*
 * Process number of the opener, in the engine's own numbering, for logs and
 * reports. [atomic]
 */
static inline s32 host_proc_pid(const struct host_proc *proc);
/*
 * Is @pid the number of @proc's process, also of a dead one, in the pid namespace
 * of @viewer's, which is the caller? For BINDER_FREEZE. [atomic]
 */
static inline bool host_proc_has_pid(const struct host_proc *proc,
				     const struct host_proc *viewer, s32 pid);
/*
 * The number of @subject's process in the pid namespace of @viewer's process; 0 if
 * it has none there. [sleeps]
 */
static inline s32 host_proc_pid_seen_by(const struct host_proc *subject,
					const struct host_proc *viewer);
/*
 * Effective user id of the sender for sender_euid, in the receiver's user namespace;
 * -1 where it has none there, as with the C driver. @caller: the thread that
 * sends. [sleeps]
 */
static inline u32 host_sender_euid(const struct host_proc *sender,
				   const struct host_thread *caller,
				   const struct host_proc *viewer);
/*
 * Effective user id of the calling thread, to decide on the context manager.
 * [atomic]
 */
static inline u32 host_caller_euid(const struct host_thread *caller);

/* ---- the caller's memory ---------------------------------------------- */

/*
 * Copy @size bytes between the engine and the memory of @thread's process at
 * address @src or @dst. A short copy is -EFAULT. [sleeps] [fails: -EFAULT;
 * -ESRCH the process was killed meanwhile, in a host where the process does not
 * copy by itself: the other party gets BR_DEAD_REPLY]
 */
static inline int host_read_caller(struct host_thread *thread, void *dst, u64 src, size_t size);
static inline int host_write_caller(struct host_thread *thread, u64 dst, const void *src,
				    size_t size);

/* ---- the map of receive buffers --------------------------------------- */

/*
 * Finds the mapping of the receive buffer in a host that is not notified of mmap();
 * called whenever a buffer is reserved and no mapping is known. @base: user
 * address, @size: bytes. [sleeps] [fails: -ESRCH no mapping]
 */
static inline int host_map_find(struct host_map *map, struct host_proc *proc, u64 *base,
				size_t *size);
/* Does the mapping still exist? [atomic] */
static inline bool host_map_present(const struct host_map *map);
/*
 * Makes pages @first .. @first + @nr - 1 usable: zeroed if they were absent, and
 * visible to the process. [sleeps] [fails: -ENOMEM; -ESRCH the process has no
 * address space any more]
 */
static inline int host_map_populate(struct host_map *map, size_t first, size_t nr);
/* Returns the memory of these pages, which are not in use, to the system. [sleeps] */
static inline void host_map_evict(struct host_map *map, size_t first, size_t nr);
/*
 * Store @size bytes at offset @off of the map: from the engine, from the memory of
 * @from's process, or zeros. [sleeps] [fails: -EFAULT, -ESRCH as above]
 */
static inline int host_map_write(struct host_map *map, size_t off, const void *src, size_t size);
static inline int host_map_copy(struct host_map *map, size_t off, struct host_thread *from,
				u64 src, size_t size);
static inline void host_map_zero(struct host_map *map, size_t off, size_t size);
/*
 * The stores to this range, which may be empty, are about to be delivered to the process.
 * A host whose stores are visible at once does nothing. [sleeps]
 */
static inline void host_map_publish(struct host_map *map, size_t off, size_t size);

/* ---- files ------------------------------------------------------------- */

/*
 * Takes a reference to the file @fd of the calling thread. [sleeps]
 * [fails: -EBADF, -EMFILE, -EPERM, -ENOMEM, -ESRCH as for memory; -EBUSY, -ETIMEDOUT,
 * -EIO: a client delays the host, and the sender gets -ENOMEM]
 */
static inline int host_file_get(struct host_thread *caller, u32 fd, struct host_file **file);
/* Drops a reference to @file. [sleeps] */
static inline void host_file_put(struct host_file *file);
/*
 * Installs @nr files in the process of @receiver, a thread inside its own read, and
 * fills fds[]: all or none. The engine keeps its references. A host that can only
 * do so after the thread has left the driver returns HOST_FDS_LATER: the engine puts
 * the transaction back to the head of the thread's todo list and returns
 * BINDER_RESTART from the read; when the thread calls again, the engine asks again
 * with the same @cookie and gets the numbers. [sleeps] [fails: -ESRCH the receiver
 * died; -EBUSY, -ETIMEDOUT it delays the host; errno. The sender gets BR_FAILED_REPLY.]
 */
#define HOST_FDS_LATER 1
static inline int host_files_install(struct host_thread *receiver, u64 cookie,
				     struct host_file **files, u32 nr, u32 *fds);
/*
 * Closes file descriptors of the receiver: the delivery failed after all, or the
 * receiver freed a buffer with an fd array. [sleeps]
 */
static inline void host_fds_close(struct host_thread *owner, const u32 *fds, u32 nr);

/* ---- policy ------------------------------------------------------------ */

/* The decisions of the security module: 0 or errno. [sleeps] [fails: -EPERM, -EACCES] */
static inline int host_may_manage(const struct host_proc *proc);
static inline int host_may_transact(const struct host_proc *from, const struct host_proc *to);
static inline int host_may_transfer_object(const struct host_proc *from,
					   const struct host_proc *to);
static inline int host_may_transfer_file(const struct host_proc *from, const struct host_proc *to,
					 struct host_file *file);
/*
 * May @caller freeze or thaw the process that opened @target? @manages: the caller's
 * process is the context manager of that open's device. [sleeps] [fails: -EPERM]
 */
static inline int host_may_freeze(const struct host_thread *caller, const struct host_proc *target,
				  bool manages);
/*
 * The security context of a process; *@len: bytes without the final NUL, 0 where the
 * system has none (not an error). Valid until host_secctx_put(). [sleeps]
 * [fails: errno]
 */
static inline int host_secctx_get(const struct host_proc *proc, const char **ctx, u32 *len);
static inline void host_secctx_put(const char *ctx, u32 len);

/* ---- priority ---------------------------------------------------------- */

/*
 * Scheduling of a thread in Linux terms: policies SCHED_FIFO 1 and SCHED_RR 2 are
 * real-time, with prio 1 .. 99; for all others (NORMAL 0, BATCH 3, IDLE 5) prio is a
 * nice value, -20 .. 19.
 */
struct host_priority {
	u8 policy;
	s8 prio;
};
/* The priority of the opening thread; @opener as passed to binder_open(). [sleeps] */
static inline struct host_priority host_priority_of_opener(const struct host_proc *proc,
							   const void *opener);
/* The priority of the calling thread. [sleeps] */
static inline struct host_priority host_priority_get(struct host_thread *caller);
/*
 * Sets the priority of any thread served by the engine. @check: lower @want to what
 * the thread's process is allowed. Between policies that are not real-time only the
 * nice value changes; children of the thread do not inherit a real-time policy. Does
 * nothing if the system refuses. [sleeps]
 */
static inline void host_priority_set(struct host_thread *thread, struct host_priority want,
				     bool check);

/* ---- time -------------------------------------------------------------- */

static inline u64 host_now_ns(void); /* monotonic, [atomic] */

/* ---- output ------------------------------------------------------------ */

/*
 * Appends formatted text to a report (conversions d u x s c with widths, l and ll).
 * [sleeps]
 */
static inline void host_out(struct host_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Logs a message for people who debug a client; rate limited by the host. [sleeps] */
enum host_log_level { HOST_LOG_ERROR, HOST_LOG_USER_ERROR, HOST_LOG_DEBUG };
static inline void host_log(enum host_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * A transaction failed, or was queued where it will not be read soon, and its sender is
 * about to get @error: BR_FAILED_REPLY, BR_DEAD_REPLY, BR_FROZEN_REPLY, or for a queued
 * one-way call BR_TRANSACTION_PENDING_FROZEN or BR_ONEWAY_SPAM_SUSPECT. For a monitor
 * of the whole system; a host without one does nothing. Process and thread numbers
 * are in the engine's own numbering. [sleeps]
 */
struct host_txn_failure {
	u32 error;
	const char *context; /* name of the device */
	s32 from_pid, from_tid;
	s32 to_pid, to_tid; /* 0: target unknown; any thread */
	bool is_reply;
	u32 code, flags;
	u64 data_size; /* bytes */
	u32 id;	       /* of the transaction */
	s32 reason;    /* errno of the extended error, negative; 0: none */
	u32 node;      /* the called object, which may be dead; 0: not known */
};
static inline void host_notify_txn_failure(const struct host_txn_failure *failure);

#include "trace.h"
#include "measure.h"
#include "host_impl.h"
#include "defaults.h"

#endif
