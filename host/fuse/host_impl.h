/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host contract (host/host.h) in the daemon. Operations without a system call are defined here,
 * the others call the file of their subject.
 */
#ifndef HOST_FUSE_HOST_IMPL_H
#define HOST_FUSE_HOST_IMPL_H

#include "base/clock.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "base/thread.h"
#include "buffers/receive_map.h"
#include "calls/park.h"
#include "clients/client_thread.h"
#include "clients/opener_identity.h"
#include "clients/namespaces.h"
#include "clients/selinux.h"
#include "events/event_stream.h"
#include "events/trace_events.h"
#include "fds/fds.h"
#include "memory/user_account.h"
#include "memory/text.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

/* ---- memory ---- */

static inline void *host_alloc(const struct host_proc *owner, size_t size)
{
	return account_alloc(owner ? owner->account : NULL, size);
}

static inline void *host_alloc_large(const struct host_proc *owner, size_t size)
{
	return host_alloc(owner, size);
}

static inline void host_free(void *ptr)
{
	account_free(ptr);
}

/* ---- locks and atomics ---- */

static inline void host_spin_init(struct host_spinlock *lock, u32 class)
{
	atomic_init(&lock->word, 0);
}

static inline void host_spin_lock(struct host_spinlock *lock)
{
	if (atomic_exchange_explicit(&lock->word, 1, memory_order_acquire))
		lock_spin_slow(&lock->word);
}

/*
 * Spinlocks are taken about forty times a call, each for a few instructions: the unlock is a plain
 * store, so a waiter cannot sleep until it is woken (locks.c).
 */
static inline void host_spin_unlock(struct host_spinlock *lock)
{
	atomic_store_explicit(&lock->word, 0, memory_order_release);
}

static inline void guard_spin_end(struct host_spinlock **lock)
{
	host_spin_unlock(*lock);
}

/* Takes @lock until the end of the scope. */
#define guard_spin(lock) \
	struct host_spinlock *guarded __attribute__((cleanup(guard_spin_end), unused)) = (lock); \
	host_spin_lock(guarded)

static inline void host_spin_destroy(struct host_spinlock *lock)
{
}

static inline void host_pi_mutex_init(struct host_pi_mutex *lock, u32 class)
{
	lock_pi_init(&lock->lock);
}

static inline void host_pi_mutex_lock(struct host_pi_mutex *lock)
{
	pthread_mutex_lock(&lock->lock);
}

static inline bool host_pi_mutex_trylock(struct host_pi_mutex *lock)
{
	return !pthread_mutex_trylock(&lock->lock);
}

static inline void host_pi_mutex_unlock(struct host_pi_mutex *lock)
{
	pthread_mutex_unlock(&lock->lock);
}

static inline void host_pi_mutex_destroy(struct host_pi_mutex *lock)
{
	pthread_mutex_destroy(&lock->lock);
}

static inline u32 *host_lock_ranks(void)
{
	return &lock_ranks;
}

static inline s32 host_atomic_read(const struct host_atomic *a)
{
	return atomic_load_explicit(&a->value, memory_order_relaxed);
}

static inline void host_atomic_set(struct host_atomic *a, s32 value)
{
	atomic_store_explicit(&a->value, value, memory_order_relaxed);
}

static inline s32 host_atomic_add_return(struct host_atomic *a, s32 delta)
{
	return atomic_fetch_add(&a->value, delta) + delta;
}

static inline void host_atomic_add(struct host_atomic *a, s32 delta)
{
	atomic_fetch_add_explicit(&a->value, delta, memory_order_relaxed);
}

/* ---- waking ---- */

static inline void host_wake(struct host_thread *thread, bool sync)
{
	park_wake(thread);
}

static inline void host_wake_poll(struct host_proc *proc, struct host_thread *thread)
{
	if (atomic_load(&proc->poll_armed))
		worker_queue_poll(proc);
}

/* ---- opens and threads ---- */

static inline int host_proc_init(struct host_proc *proc, struct host_map *map, const void *opener)
{
	int error;

	*proc = *(const struct host_proc *)opener;
	error = map_init(map, proc);
	if (!error)
		identity_moved((void *)opener);
	return error;
}

static inline void host_proc_destroy(struct host_proc *proc, struct host_map *map)
{
	map_destroy(map);
	identity_free(proc);
	account_discharge(proc->account, HOST_PROC_MEMORY);
}

static inline int host_thread_init(struct host_thread *thread, struct host_proc *proc,
				   const void *opener)
{
	*thread = (struct host_thread){ .tid = *(const s32 *)opener, .proc = proc };
	client_thread_note(proc, thread->tid);
	return 0;
}

static inline void host_thread_destroy(struct host_thread *thread)
{
	fds_free_pending(thread);
}

/* ---- identity ---- */

static inline s32 host_proc_pid(const struct host_proc *proc)
{
	return proc->pid;
}

static inline bool host_proc_has_pid(const struct host_proc *proc,
				     const struct host_proc *viewer, s32 pid)
{
	return pid && namespaces_number(proc, viewer) == pid;
}

static inline s32 host_proc_pid_seen_by(const struct host_proc *subject,
					const struct host_proc *viewer)
{
	return namespaces_pid_seen_by(subject, viewer);
}

static inline u32 host_sender_euid(const struct host_proc *sender,
				   const struct host_thread *caller, const struct host_proc *viewer)
{
	return namespaces_uid_seen_by(caller->request.euid, viewer);
}

static inline u32 host_caller_euid(const struct host_thread *caller)
{
	return caller->request.euid;
}

/* ---- the caller's memory ---- */

static inline int host_read_caller(struct host_thread *thread, void *dst, u64 src, size_t size)
{
	if (worker_was_aborted(thread->request.unique))
		return -ESRCH;
	return client_thread_read(thread->tid, dst, src, size);
}

static inline int host_write_caller(struct host_thread *thread, u64 dst, const void *src,
				    size_t size)
{
	if (worker_was_aborted(thread->request.unique))
		return -ESRCH;
	return client_thread_write(thread->tid, dst, src, size);
}

/* ---- the map of receive buffers ---- */

static inline int host_map_find(struct host_map *map, struct host_proc *proc, u64 *base,
				size_t *size)
{
	return map_find(map, base, size);
}

static inline bool host_map_present(const struct host_map *map)
{
	return !atomic_load(&map->proc->gone);
}

static inline int host_map_populate(struct host_map *map, size_t first, size_t nr)
{
	return map_populate(map, first, nr);
}

static inline void host_map_evict(struct host_map *map, size_t first, size_t nr)
{
	map_evict(map, first, nr);
}

static inline int host_map_write(struct host_map *map, size_t off, const void *src, size_t size)
{
	char *memory = map_memory(map);

	if (!memory)
		return -ENOMEM;
	memcpy(memory + off, src, size);
	return 0;
}

static inline int host_map_copy(struct host_map *map, size_t off, struct host_thread *from, u64 src,
				size_t size)
{
	char *memory = map_memory(map);

	if (worker_was_aborted(from->request.unique))
		return -ESRCH;
	return memory ? client_thread_read(from->tid, memory + off, src, size) : -ENOMEM;
}

/*
 * Without passthrough the process has a copy of what it received, which is cleared, too. But not as
 * an open ends, when the process may have something else there, nor for a thread that ended: what
 * it did not read was not copied. For neither the daemon waits for the process
 * (gate_begin_whole()).
 */
static inline void host_map_zero(struct host_map *map, size_t off, size_t size)
{
	map_zero(map, off, size);
	if (map->backing_id < 0 && !atomic_load(&map->proc->ended) && !gate_is_whole())
		map_publish(map, off, size);
}

static inline void host_map_publish(struct host_map *map, size_t off, size_t size)
{
	if (size && map->backing_id < 0)
		map_publish(map, off, size);
}

/* ---- files ---- */

static inline int host_file_get(struct host_thread *caller, u32 fd, struct host_file **file)
{
	return fds_get(caller, fd, file);
}

static inline void host_file_put(struct host_file *file)
{
	fds_put(file);
}

static inline int host_files_install(struct host_thread *receiver, u64 cookie,
				     struct host_file **files, u32 nr, u32 *fds)
{
	return fds_install(receiver, cookie, files, nr, fds);
}

static inline void host_fds_close(struct host_thread *owner, const u32 *fds, u32 nr)
{
	fds_close(owner, fds, nr);
}

/* ---- policy: SELinux's (selinux.h); the kernel checks files as they are received ---- */

static inline int host_may_manage(const struct host_proc *proc)
{
	return selinux_is_on() ? selinux_check_manage(proc) : 0;
}

static inline int host_may_transact(const struct host_proc *from, const struct host_proc *to)
{
	return selinux_is_on() ? selinux_check_call(from, to) : 0;
}

static inline int host_may_transfer_object(const struct host_proc *from,
					   const struct host_proc *to)
{
	return selinux_is_on() ? selinux_check_transfer(from, to) : 0;
}

static inline int host_may_transfer_file(const struct host_proc *from, const struct host_proc *to,
					 struct host_file *file)
{
	return 0;
}

/* The C driver lets any user freeze any process, but on Android stands behind SELinux. */
static inline int host_may_freeze(const struct host_thread *caller, const struct host_proc *target,
				  bool manages)
{
	return manages || !caller->request.euid || caller->request.euid == target->euid ? 0
											: -EPERM;
}

static inline int host_secctx_get(const struct host_proc *proc, const char **ctx, u32 *len)
{
	*ctx = proc->context;
	*len = *ctx ? (u32)strlen(*ctx) : 0;
	return 0;
}

/* The context belongs to the open, which outlives the call. */
static inline void host_secctx_put(const char *ctx, u32 len)
{
}

/* ---- priority ---- */

static inline struct host_priority host_priority_of_opener(const struct host_proc *proc,
							   const void *opener)
{
	struct host_priority priority;

	client_thread_get_priority(proc->opener, &priority.policy, &priority.prio);
	return priority;
}

static inline struct host_priority host_priority_get(struct host_thread *caller)
{
	struct host_priority priority;

	client_thread_get_priority(caller->tid, &priority.policy, &priority.prio);
	return priority;
}

static inline void host_priority_set(struct host_thread *thread, struct host_priority want,
				     bool check)
{
	client_thread_set_priority(thread, want.policy, want.prio, check);
}

/* ---- time and ids ---- */

static inline u64 host_now_ns(void)
{
	return clock_now_ns();
}

/* ---- output ---- */

static inline void host_out(struct host_out *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_vprint(out->text, fmt, args);
	va_end(args);
}

static inline bool log_is_wanted(enum host_log_level level)
{
	static const enum log_level levels[] = {
		[HOST_LOG_ERROR] = LOG_LEVEL_ERROR,
		[HOST_LOG_USER_ERROR] = LOG_LEVEL_INFO,
		[HOST_LOG_DEBUG] = LOG_LEVEL_DEBUG,
	};

	return levels[level] <= log_threshold;
}

static inline void host_log(enum host_log_level level, const char *fmt, ...)
{
	va_list args;

	if (!log_is_wanted(level))
		return;
	va_start(args, fmt);
	log_engine(level == HOST_LOG_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, fmt, args);
	va_end(args);
}

/* Only a kernel can provide a generic netlink family; the stream of events has it instead. */
static inline void host_notify_txn_failure(const struct host_txn_failure *failure)
{
	if (events_wanted(EVENT_FAILED))
		trace_failed(failure);
}

/* ---- measure.h ---- */

#define host_shard host_shard
static inline u32 host_shard(void)
{
	return thread_number();
}

#define host_trace_stages_wanted host_trace_stages_wanted
static inline bool host_trace_stages_wanted(void)
{
	return events_wanted(EVENT_STAGE);
}

#define host_trace_stage host_trace_stage
static inline void host_trace_stage(enum host_stage stage, u32 id, u32 answers, s32 pid, s32 tid)
{
	struct event_stage event = { stage, id, answers, pid, tid };

	trace_put(EVENT_STAGE, event);
}

#endif
