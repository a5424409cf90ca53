/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract between the engine (core/) and the system that it lives in.
 *
 * Every operation says what the engine wants, not how a system does it, so
 * that a kernel, a daemon and a simulator can each keep it in their own way.
 * A home brings two headers on the include path:
 *
 *   host_types.h  the types named below and the integer types (u8 .. u64,
 *		   s32, s64, bool, size_t, NULL), and the errno numbers;
 *   host_impl.h   the `static inline` definitions of what is declared here.
 *
 * A missing or mistyped operation is therefore a compile error.
 *
 * In each comment: [sleeps] it may sleep or wait, so no spinlock may be held;
 * [atomic] it may be called with any of the engine's locks held; [fails] what
 * it may return.  "errno" means a negative errno number.  The test host can
 * make every operation marked [fails] fail.
 *
 * Types of a home, opaque to the engine:
 *   struct host_spinlock	a lock that is held for a short time, never over
 *				an operation that sleeps
 *   struct host_mutex		a lock under which one may sleep
 *   struct host_pi_mutex	the same, and who holds it is as urgent as who waits
 *   struct host_atomic		an integer of 32 bits
 *   struct host_proc		what the home knows of one open of a device;
 *				embedded in struct binder_proc as `host`
 *   struct host_thread		what the home knows of a calling thread;
 *				embedded in struct binder_thread as `host`
 *   struct host_map		the pages behind one process's receive buffer;
 *				embedded in struct binder_alloc as `map`
 *   struct host_file		an open file on its way between processes;
 *				only ever handled by pointer
 *   struct host_out		where a text report goes
 */
#ifndef BINDER_HOST_H
#define BINDER_HOST_H

#include "host_types.h"

/* ---- memory ---------------------------------------------------------- */

/* Zeroed memory of @size bytes, freed by host_free().  [sleeps]
 * [fails: NULL] */
static inline void *host_alloc(size_t size);
/* As host_alloc(), for sizes up to several MiB.  [sleeps] [fails: NULL] */
static inline void *host_alloc_large(size_t size);
/* Frees what either of the two returned; NULL is nothing.  [sleeps] */
static inline void host_free(void *ptr);

static inline void host_memcpy(void *dst, const void *src, size_t size);
static inline void host_memset(void *dst, int c, size_t size);
static inline int host_memcmp(const void *a, const void *b, size_t size);
static inline size_t host_strlen(const char *s);

/* ---- locks and atomics ------------------------------------------------ */

/* @class: locks of one class are never held together; for a system's own lock
 * checker. */
static inline void host_spin_init(struct host_spinlock *lock, u32 class);
static inline void host_spin_lock(struct host_spinlock *lock);   /* [atomic] */
/* Never waits.  [fails: false, somebody holds it]  [atomic] */
static inline bool host_spin_trylock(struct host_spinlock *lock);
static inline void host_spin_unlock(struct host_spinlock *lock); /* [atomic] */
static inline void host_spin_destroy(struct host_spinlock *lock);
#ifdef BINDER_DEBUG
/* A number that identifies the running thread of execution, for the run-time
 * rank checker of lock.h: where the ranks of the held locks are kept.  One per
 * execution context.  [atomic] */
static inline u32 *host_lock_ranks(void);
#endif

static inline void host_mutex_init(struct host_mutex *lock, u32 class);
static inline void host_mutex_lock(struct host_mutex *lock); /* [sleeps] */
/* Never waits.  [fails: false, somebody holds it] */
static inline bool host_mutex_trylock(struct host_mutex *lock);
static inline void host_mutex_unlock(struct host_mutex *lock);
static inline void host_mutex_destroy(struct host_mutex *lock);

/* As the mutex, with priority inheritance: whoever holds it gets the processor as the most urgent
 * of those who wait for it would, as far as the system can do that. */
static inline void host_pi_mutex_init(struct host_pi_mutex *lock, u32 class);
static inline void host_pi_mutex_lock(struct host_pi_mutex *lock); /* [sleeps] */
/* Never waits.  [fails: false, somebody holds it] */
static inline bool host_pi_mutex_trylock(struct host_pi_mutex *lock);
static inline void host_pi_mutex_unlock(struct host_pi_mutex *lock);
static inline void host_pi_mutex_destroy(struct host_pi_mutex *lock);

/* Is it counted how often locks are found taken (core/contention.h)?  Costs next to nothing where
 * not, and may change at any time.  [atomic] */
static inline bool host_is_counting_locks(void);
static inline void host_count_locks(bool on); /* [sleeps] */
/* A number that threads which run at the same time do not share, as far as that is cheap to say.
 * [atomic] */
static inline u32 host_shard(void);

/* Atomics: [atomic] all.  add_return orders memory fully; read, set and add do
 * not order. */
static inline s32 host_atomic_read(const struct host_atomic *a);
static inline void host_atomic_set(struct host_atomic *a, s32 value);
static inline s32 host_atomic_add_return(struct host_atomic *a, s32 delta);
static inline void host_atomic_add(struct host_atomic *a, s32 delta);

/* ---- the regime (core/regime.h) ---------------------------------------- */

/* Is there one mutex around all calls?  The same answer for ever; costs next to nothing where it is
 * no.  [atomic] */
static inline bool host_locking_is_global(void);
/* From here on the calling thread is to be kept on its CPU, if that is what the regime wants (the
 * home's own operations that sleep let it go meanwhile); until the second.  No spinlock held.
 * [atomic] */
static inline void host_stay_on_cpu(void);
static inline void host_may_leave_cpu(void);

/* ---- waking ----------------------------------------------------------- */

/* @thread was told BINDER_WOULD_BLOCK (or will be, by a call that is under
 * way) and now has something to do: the home calls binder_resume() for it
 * soon.  Never loses a wake-up: if the thread is not parked yet, parking it
 * must notice.  @sync: the waker is about to sleep itself, so the system may
 * run the woken thread on the waker's CPU.  [atomic] */
static inline void host_wake(struct host_thread *thread, bool sync);
/* Work came for a process or a thread that may be watched by poll or epoll.
 * @thread: the thread whose poll set the interest, still alive.  [atomic] */
static inline void host_wake_poll(struct host_proc *proc,
				  struct host_thread *thread);

/* ---- what the home knows of an open and of a thread -------------------- */

/* Called by binder_open() and binder_thread_find_or_new() with what the home handed
 * them as @opener, before anybody else sees the structure; undone by the
 * destroy, after everybody has let go.  The init of a proc includes that of the
 * map of its receive buffer.  [sleeps] [fails: errno] */
static inline int host_proc_init(struct host_proc *proc, struct host_map *map, const void *opener);
static inline void host_proc_destroy(struct host_proc *proc, struct host_map *map);
static inline int host_thread_init(struct host_thread *thread, struct host_proc *proc,
				   const void *opener);
static inline void host_thread_destroy(struct host_thread *thread);

/* ---- who is calling --------------------------------------------------- */

/* Process number of an open's owner (in the engine's own numbering), for logs,
 * reports and BINDER_FREEZE.  [atomic] */
static inline s32 host_proc_pid(const struct host_proc *proc);
/* The number by which @viewer's process sees @subject's process: its pid
 * namespace may have another number for it, or none (0).  [sleeps] */
static inline s32 host_proc_pid_seen_by(const struct host_proc *subject,
					const struct host_proc *viewer);
/* Effective user id that receivers see as sender_euid, in the receiver's user
 * namespace (-1 where it has none, as the stock driver tells it).  @caller: the thread that sends.
 * [sleeps] */
static inline u32 host_sender_euid(const struct host_proc *sender,
				   const struct host_thread *caller,
				   const struct host_proc *viewer);
/* Effective user id of the calling thread, for who may be context manager.
 * [atomic] */
static inline u32 host_caller_euid(const struct host_thread *caller);

/* ---- the caller's memory ---------------------------------------------- */

/* Copy @size bytes between the engine and the memory of @thread's process at
 * address @src / @dst.  All or nothing for errors: a short copy is -EFAULT.
 * [sleeps] [fails: -EFAULT, -ESRCH the process has just been killed, in a home
 * where it does not do this itself: who waits for it hears of a death then] */
static inline int host_read_caller(struct host_thread *thread, void *dst,
				   u64 src, size_t size);
static inline int host_write_caller(struct host_thread *thread, u64 dst,
				    const void *src, size_t size);

/* ---- the map of receive buffers --------------------------------------- */

/* The process mapped its buffer (or the home found that it did): the address
 * and size in bytes.  A home that cannot be told of mmap looks for the mapping
 * here; it is asked whenever a buffer is wanted and none was known.  [sleeps]
 * [fails: -ESRCH no mapping] */
static inline int host_map_find(struct host_map *map, struct host_proc *proc,
				u64 *base, size_t *size);
/* Is the mapping that host_map_find() told of still there?  [atomic] */
static inline bool host_map_present(const struct host_map *map);
/* Make the pages @first .. @first + @nr - 1 usable: filled with zeros if they
 * were not there, and visible to the process.  [sleeps] [fails: -ENOMEM,
 * -ESRCH the process has no address space any more] */
static inline int host_map_populate(struct host_map *map, size_t first,
				    size_t nr);
/* Give the memory of these pages back; they are not in use.  [sleeps] */
static inline void host_map_evict(struct host_map *map, size_t first,
				  size_t nr);
/* Store @size bytes at offset @off of the map (from the engine; from the
 * memory of @from's process; zeros).  [sleeps] [fails: -EFAULT, -ESRCH as above] */
static inline int host_map_write(struct host_map *map, size_t off,
				 const void *src, size_t size);
static inline int host_map_copy(struct host_map *map, size_t off,
				struct host_thread *from, u64 src, size_t size);
static inline void host_map_zero(struct host_map *map, size_t off, size_t size);
/* Everything stored in this range since it was allocated is about to be shown
 * to the process.  A home whose stores are seen at once does nothing.
 * [sleeps] */
static inline void host_map_publish(struct host_map *map, size_t off,
				    size_t size);

/* ---- files ------------------------------------------------------------- */

/* Take a reference to the file @fd of the calling thread.  [sleeps]
 * [fails: -EBADF, -EMFILE, -EPERM, -ENOMEM, -ESRCH as with its memory] */
static inline int host_file_get(struct host_thread *caller, u32 fd,
				struct host_file **file);
/* Drop it.  [sleeps] */
static inline void host_file_put(struct host_file *file);
/* Put @nr files into the receiving process, whose thread @receiver is inside
 * its own read: fills fds[].  All or none.  The references to the files stay
 * the engine's.  A home that can only do so when the thread has left the
 * system returns HOST_FDS_LATER: the engine then puts the transaction back at
 * the head of that thread's todo list and returns BINDER_RESTART from the
 * read; when the thread calls again, the engine asks again for the same
 * @cookie, and gets the numbers.  [sleeps] [fails: -ESRCH when the receiver has
 * died meanwhile, which its caller is then told; errno] */
#define HOST_FDS_LATER 1
static inline int host_files_install(struct host_thread *receiver, u64 cookie,
				     struct host_file **files, u32 nr,
				     u32 *fds);
/* The delivery that the installed files belong to failed after all, or the
 * receiver gave a buffer with an fd array back: close these of its own.
 * [sleeps] */
static inline void host_fds_close(struct host_thread *owner, const u32 *fds,
				  u32 nr);

/* ---- policy ------------------------------------------------------------ */

/* The security module's say.  0 or errno.  [sleeps] [fails: -EPERM, -EACCES] */
static inline int host_may_manage(const struct host_proc *proc);
static inline int host_may_transact(const struct host_proc *from,
				    const struct host_proc *to);
static inline int host_may_transfer_object(const struct host_proc *from,
					   const struct host_proc *to);
static inline int host_may_transfer_file(const struct host_proc *from,
					 const struct host_proc *to,
					 struct host_file *file);
/* The security context of a process: a string without its final NUL counted in
 * *@len; *@len 0 where the system has none (not an error).  Valid until
 * host_secctx_put().  [sleeps] [fails: errno] */
static inline int host_secctx_get(const struct host_proc *proc,
				  const char **ctx, u32 *len);
static inline void host_secctx_put(const char *ctx, u32 len);

/* ---- priority ---------------------------------------------------------- */

/* How a thread is scheduled, as Linux counts: policy SCHED_FIFO 1 and RR 2 are
 * the real-time ones, with prio 1 .. 99; for all others (NORMAL 0, BATCH 3,
 * IDLE 5) prio is a nice value, -20 .. 19. */
struct host_priority {
	u8 policy;
	s8 prio;
};
/* Of the thread that opens, with what it handed to binder_open().  [sleeps] */
static inline struct host_priority host_priority_of_opener(const struct host_proc *proc,
							   const void *opener);
/* Of the calling thread.  [sleeps] */
static inline struct host_priority
host_priority_get(struct host_thread *caller);
/* Of another thread of a process that the engine serves.  @want is lowered to
 * what that process is allowed if @check.  Between policies that are not
 * real-time only the nice value changes; a real-time policy is not handed down
 * to what the thread forks.  Does nothing if the system refuses.  [sleeps] */
static inline void host_priority_set(struct host_thread *thread,
				     struct host_priority want, bool check);

/* ---- time and ids ------------------------------------------------------ */

static inline u64 host_now_ns(void); /* monotonic, [atomic] */

/* ---- output ------------------------------------------------------------ */

/* Append formatted text to a report (the subset d u x s c with widths and
 * l/ll lengths).  [sleeps] */
static inline void host_out(struct host_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Something that a person who debugs a client wants to read.  Rate limited by
 * the home.  No spinlock held.  [sleeps] */
enum host_log_level { HOST_LOG_ERROR, HOST_LOG_USER_ERROR, HOST_LOG_DEBUG };
static inline void host_log(enum host_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Is anybody listening at this level?  So that arguments need not be computed
 * for nobody.  [atomic] */
static inline bool host_log_wanted(enum host_log_level level);
/* A transaction came to nothing, or came to somebody who will not look at it, and
 * its sender is about to be told so by @error: BR_FAILED_REPLY, BR_DEAD_REPLY,
 * BR_FROZEN_REPLY, or, for a one-way call that is on its way nevertheless,
 * BR_TRANSACTION_PENDING_FROZEN, BR_ONEWAY_SPAM_SUSPECT.  For whoever looks after
 * the whole system; a home that cannot reach anybody like that does nothing.
 * Processes and threads are told in the engine's own numbering.  No lock held.
 * [sleeps] */
struct host_txn_failure {
	u32 error;
	const char *context; /* name of the device */
	s32 from_pid, from_tid;
	s32 to_pid, to_tid; /* 0: it is not known who was meant; any thread */
	bool is_reply;
	u32 code, flags;
	u64 data_size; /* bytes */
};
static inline void host_notify_txn_failure(const struct host_txn_failure *failure);

/* ---- tracing ----------------------------------------------------------- */

/* What happens, for whoever watches; the stock driver's tracepoints.  Costs
 * next to nothing where nobody does.  [atomic] all. */
static inline void host_trace_command(u32 cmd);
static inline void host_trace_return(u32 cmd);
/* The commands of a call are done; its read is over.  @err: 0 or errno. */
static inline void host_trace_write_done(int err);
static inline void host_trace_read_done(int err);
/* A thread asks for work: may it take some of its process, is a call on its
 * stack, is there something in its own list? */
static inline void host_trace_wait(bool proc_work, bool in_call, bool has_todo);
struct host_trace_txn {
	u32 id;
	u32 node; /* 0: none */
	s32 from_proc, from_thread;
	s32 to_proc, to_thread; /* 0: any thread */
	bool reply;
	u32 code, flags;
};
static inline void host_trace_txn_sent(const struct host_trace_txn *txn);
static inline void host_trace_txn_received(u32 id);
static inline void host_trace_txn_freed(const struct host_trace_txn *txn);
/* Sizes in bytes, as in struct binder_buffer. */
enum host_trace_buffer {
	HOST_TRACE_BUFFER_MADE,	    /* for a transaction */
	HOST_TRACE_BUFFER_FREED,    /* by its receiver */
	HOST_TRACE_BUFFER_FAILED,   /* with its transaction */
	HOST_TRACE_BUFFER_OUTDATED, /* a newer one-way call took its place */
};
static inline void host_trace_buffer(enum host_trace_buffer what, u32 id, size_t data,
				     size_t offsets, size_t extra);
/* An object of the data becomes another: the sender's own a handle, a handle the
 * receiver's own, or a handle another handle. */
enum host_trace_object {
	HOST_TRACE_NODE_TO_REF,
	HOST_TRACE_REF_TO_NODE,
	HOST_TRACE_REF_TO_REF,
};
struct host_trace_translation {
	u32 id;	  /* of the transaction */
	u32 node; /* which object it is */
	u64 ptr;
	u32 from_ref, from_desc; /* the sender's handle; 0: none */
	u32 to_ref, to_desc;	 /* the receiver's */
};
static inline void host_trace_object(enum host_trace_object what,
				     const struct host_trace_translation *x);
/* Does anybody watch?  The numbers of handles have to be looked up for it. */
static inline bool host_trace_objects_wanted(void);
/* Where a call is on its way (core/stage.h): kept with the time, for whoever asked for it.
 * @answers: the call that reply @id answers, or 0; @pid, @tid: who has come there. */
enum host_stage {
	HOST_STAGE_IOC,
	HOST_STAGE_WR_IN,
	HOST_STAGE_ENQ,
	HOST_STAGE_DEQ,
	HOST_STAGE_COPY,
	HOST_STAGE_COUNT,
};
static inline bool host_trace_stages_wanted(void);
static inline void host_trace_stage(enum host_stage stage, u32 id, u32 answers, s32 pid, s32 tid);
/* A file leaves its sender, comes to its receiver as @fd; its number stands
 * @off bytes into the buffer. */
static inline void host_trace_file_sent(u32 id, u32 fd, size_t off);
static inline void host_trace_file_received(u32 id, u32 fd, size_t off);

#include "host_impl.h"

#endif
