/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract (host/host.h) in the module. An operation of more than a few lines is in the file of
 * its subject.
 */
#ifndef HOST_LINUX_HOST_IMPL_H
#define HOST_LINUX_HOST_IMPL_H

#include "binder_events.h"
#include "files.h"
#include "identity.h"
#include "log.h"
#include "map.h"
#include "netlink.h"
#include "own_events.h"
#include "policy.h"
#include "priority.h"
#include "wait.h"

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "bytes.h"

/* ---- memory ---- */

/* Charged to the control group of the caller. */
static inline void *host_alloc(const struct host_proc *owner, size_t size)
{
	return kvzalloc(size, GFP_KERNEL_ACCOUNT);
}

static inline void *host_alloc_large(const struct host_proc *owner, size_t size)
{
	return host_alloc(owner, size);
}

static inline void host_free(void *ptr)
{
	if (ptr) /* in the usual case none: without a call */
		kvfree(ptr);
}

/* ---- locks and atomics ---- */

/* One for each rank of the engine's locks, for lockdep. */
extern struct lock_class_key lock_classes[16];

static inline void host_spin_init(struct host_spinlock *lock, u32 class)
{
	spin_lock_init(&lock->lock);
	lockdep_set_class(&lock->lock, &lock_classes[class]);
}

static inline void host_spin_lock(struct host_spinlock *lock)
{
	spin_lock(&lock->lock);
}

static inline void host_spin_unlock(struct host_spinlock *lock)
{
	spin_unlock(&lock->lock);
}

static inline void host_spin_destroy(struct host_spinlock *lock)
{
}

static inline void host_pi_mutex_init(struct host_pi_mutex *lock, u32 class)
{
	rt_mutex_init(&lock->lock);
	lockdep_set_class(&lock->lock, &lock_classes[class]);
}

static inline void host_pi_mutex_lock(struct host_pi_mutex *lock)
{
	rt_mutex_lock(&lock->lock);
}

static inline bool host_pi_mutex_trylock(struct host_pi_mutex *lock)
{
	return rt_mutex_trylock(&lock->lock);
}

static inline void host_pi_mutex_unlock(struct host_pi_mutex *lock)
{
	rt_mutex_unlock(&lock->lock);
}

static inline void host_pi_mutex_destroy(struct host_pi_mutex *lock)
{
}

static inline s32 host_atomic_read(const struct host_atomic *a)
{
	return atomic_read(&a->value);
}

static inline void host_atomic_set(struct host_atomic *a, s32 value)
{
	atomic_set(&a->value, value);
}

static inline s32 host_atomic_add_return(struct host_atomic *a, s32 delta)
{
	return atomic_add_return(delta, &a->value);
}

static inline void host_atomic_add(struct host_atomic *a, s32 delta)
{
	atomic_add(delta, &a->value);
}

/* ---- waking ---- */

static inline void host_wake(struct host_thread *thread, bool sync)
{
	wait_wake(thread, sync);
}

static inline void host_wake_poll(struct host_proc *proc, struct host_thread *thread)
{
	wake_up_interruptible_poll(&proc->poll_wait, EPOLLIN);
}

/* ---- opens and threads ---- */

static inline int host_proc_init(struct host_proc *proc, struct host_map *map, const void *opener)
{
	return identity_init(proc, map, (struct file *)opener);
}

static inline void host_proc_destroy(struct host_proc *proc, struct host_map *map)
{
	map_destroy(map);
	identity_destroy(proc);
}

static inline int host_thread_init(struct host_thread *thread, struct host_proc *proc,
				   const void *opener)
{
	thread->proc = proc;
	wait_init(thread);
	return 0;
}

static inline void host_thread_destroy(struct host_thread *thread)
{
	wait_destroy(thread);
}

/* ---- identity ---- */

static inline s32 host_proc_pid(const struct host_proc *proc)
{
	return identity_pid(proc);
}

static inline bool host_proc_has_pid(const struct host_proc *proc,
				     const struct host_proc *viewer, s32 pid)
{
	return identity_has_pid(proc, pid);
}

static inline s32 host_proc_pid_seen_by(const struct host_proc *subject,
					const struct host_proc *viewer)
{
	return identity_pid_seen_by_current(subject);
}

static inline u32 host_sender_euid(const struct host_proc *sender,
				   const struct host_thread *caller, const struct host_proc *viewer)
{
	return identity_current_euid_seen_by(viewer);
}

static inline u32 host_caller_euid(const struct host_thread *caller)
{
	return identity_current_euid();
}

/* ---- the caller's memory; the caller is the current task ---- */

static inline int host_read_caller(struct host_thread *thread, void *dst, u64 src, size_t size)
{
	return copy_from_user(dst, u64_to_user_ptr(src), size) ? -EFAULT : 0;
}

static inline int host_write_caller(struct host_thread *thread, u64 dst, const void *src,
				    size_t size)
{
	u64 __user *to = u64_to_user_ptr(dst);
	const u64 *from = src;

	/* At most a few dozen words: stored in place, as getdents() does with a name. */
	if (!user_write_access_begin(to, size))
		return -EFAULT;
	/* unsafe_copy_to_user() makes a turn of its loop for each word. */
	for (; size >= 4 * sizeof(*to); size -= 4 * sizeof(*to), to += 4, from += 4) {
		unsafe_put_user(from[0], &to[0], fault);
		unsafe_put_user(from[1], &to[1], fault);
		unsafe_put_user(from[2], &to[2], fault);
		unsafe_put_user(from[3], &to[3], fault);
	}
	unsafe_copy_to_user((void __user *)to, (const void *)from, size, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/* ---- the map of receive buffers ---- */

/* The engine is notified by binder_mmap(). */
static inline int host_map_find(struct host_map *map, struct host_proc *proc, u64 *base,
				size_t *size)
{
	return -ESRCH;
}

static inline bool host_map_present(const struct host_map *map)
{
	return READ_ONCE(map->present);
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
	map_write(map, off, src, size);
	return 0;
}

static inline int host_map_copy(struct host_map *map, size_t off, struct host_thread *from, u64 src,
				size_t size)
{
	return map_copy_from_current(map, off, src, size);
}

static inline void host_map_zero(struct host_map *map, size_t off, size_t size)
{
	map_zero(map, off, size);
}

static inline void host_map_publish(struct host_map *map, size_t off, size_t size)
{
}

/* ---- files ---- */

static inline int host_file_get(struct host_thread *caller, u32 fd, struct host_file **file)
{
	return files_get(fd, file);
}

static inline void host_file_put(struct host_file *file)
{
	files_put(file);
}

static inline int host_files_install(struct host_thread *receiver, u64 cookie,
				     struct host_file **files, u32 nr, u32 *fds)
{
	return files_install(files, nr, fds);
}

static inline void host_fds_close(struct host_thread *owner, const u32 *fds, u32 nr)
{
	files_close(owner, fds, nr);
}

/* ---- policy ---- */

static inline int host_may_manage(const struct host_proc *proc)
{
	return policy_may_manage(proc->cred);
}

static inline int host_may_transact(const struct host_proc *from, const struct host_proc *to)
{
	return policy_may_transact(from->cred, to->cred); /* does not sleep */
}

static inline int host_may_transfer_object(const struct host_proc *from,
					   const struct host_proc *to)
{
	return policy_may_transfer_object(from->cred, to->cred);
}

static inline int host_may_transfer_file(const struct host_proc *from, const struct host_proc *to,
					 struct host_file *file)
{
	/* In its own queue it would keep its Binder process for ever. */
	if (files_is_open_of(file, to))
		return -EPERM;
	return policy_may_transfer_file(from->cred, to->cred, file);
}

static inline int host_may_freeze(const struct host_thread *caller, const struct host_proc *target,
				  bool manages)
{
	return policy_may_freeze(target->cred, manages); /* does not sleep */
}

static inline int host_secctx_get(const struct host_proc *proc, const char **ctx, u32 *len)
{
	return policy_context_get(proc->cred, ctx, len);
}

static inline void host_secctx_put(const char *ctx, u32 len)
{
	policy_context_put(ctx);
}

/* ---- priority: always of the calling thread ---- */

static inline struct host_priority host_priority_of_opener(const struct host_proc *proc,
							   const void *opener)
{
	struct host_priority priority;

	priority_get(&priority.policy, &priority.prio);
	return priority;
}

static inline struct host_priority host_priority_get(struct host_thread *caller)
{
	struct host_priority priority;

	priority_get(&priority.policy, &priority.prio);
	return priority;
}

static inline void host_priority_set(struct host_thread *thread, struct host_priority want,
				     bool check)
{
	priority_set(want.policy, want.prio, check);
}

/* ---- time ---- */

static inline u64 host_now_ns(void)
{
	return ktime_get_ns();
}

/* ---- tracing ---- */

#define host_trace_command host_trace_command
static inline void host_trace_command(u32 cmd)
{
	trace_binder_command(cmd);
}

#define host_trace_return host_trace_return
static inline void host_trace_return(u32 cmd)
{
	trace_binder_return(cmd);
}

#define host_trace_write_done host_trace_write_done
static inline void host_trace_write_done(int err)
{
	trace_binder_write_done(err);
}

#define host_trace_read_done host_trace_read_done
static inline void host_trace_read_done(int err)
{
	trace_binder_read_done(err);
}

#define host_trace_wait host_trace_wait
static inline void host_trace_wait(bool proc_work, bool in_call, bool has_todo)
{
	trace_binder_wait_for_work(proc_work, in_call, has_todo);
}

#define host_trace_txn_sent host_trace_txn_sent
static inline void host_trace_txn_sent(const struct host_trace_txn *txn)
{
	trace_binder_transaction(txn->id, txn->node, txn->to_proc, txn->to_thread, txn->reply,
				 txn->code, txn->flags);
}

#define host_trace_txn_received host_trace_txn_received
static inline void host_trace_txn_received(u32 id)
{
	trace_binder_transaction_received(id);
}

#define host_trace_priorities_wanted host_trace_priorities_wanted
static inline bool host_trace_priorities_wanted(void)
{
	return trace_binder_priorities_enabled();
}

#define host_trace_priorities host_trace_priorities
static inline void host_trace_priorities(u32 id, const struct host_priority *caller,
					 struct host_priority served)
{
	trace_binder_priorities(id, caller ? caller->policy : -1, caller ? caller->prio : 0,
				served.policy, served.prio);
}

#define host_trace_txn_freed host_trace_txn_freed
static inline void host_trace_txn_freed(const struct host_trace_txn *txn)
{
	trace_binder_txn_latency_free(txn->id, txn->from_proc, txn->from_thread, txn->to_proc,
				      txn->to_thread, txn->code, txn->flags);
}

#define host_trace_buffer host_trace_buffer
static inline void host_trace_buffer(enum host_trace_buffer what, u32 id, size_t data,
				     size_t offsets, size_t extra)
{
	if (what == HOST_TRACE_BUFFER_ALLOCATED)
		trace_binder_transaction_alloc_buf(id, data, offsets, extra);
	else if (what == HOST_TRACE_BUFFER_FREED)
		trace_binder_transaction_buffer_release(id, data, offsets, extra);
	else if (what == HOST_TRACE_BUFFER_FAILED)
		trace_binder_transaction_failed_buffer_release(id, data, offsets, extra);
	else
		trace_binder_transaction_update_buffer_release(id, data, offsets, extra);
}

#define host_trace_object host_trace_object
static inline void host_trace_object(enum host_trace_object what,
				     const struct host_trace_translation *x)
{
	if (what == HOST_TRACE_NODE_TO_REF)
		trace_binder_transaction_node_to_ref(x->id, x->node, x->ptr, x->to_ref, x->to_desc);
	else if (what == HOST_TRACE_REF_TO_NODE)
		trace_binder_transaction_ref_to_node(x->id, x->from_ref, x->from_desc, x->node,
						     x->ptr);
	else
		trace_binder_transaction_ref_to_ref(x->id, x->node, x->from_ref, x->from_desc,
						    x->to_ref, x->to_desc);
}

#define host_trace_objects_wanted host_trace_objects_wanted
static inline bool host_trace_objects_wanted(void)
{
	return trace_binder_transaction_node_to_ref_enabled() ||
	       trace_binder_transaction_ref_to_node_enabled() ||
	       trace_binder_transaction_ref_to_ref_enabled();
}

#define host_trace_file_sent host_trace_file_sent
static inline void host_trace_file_sent(u32 id, u32 fd, size_t off)
{
	trace_binder_transaction_fd_send(id, fd, off);
}

#define host_trace_file_received host_trace_file_received
static inline void host_trace_file_received(u32 id, u32 fd, size_t off)
{
	trace_binder_transaction_fd_recv(id, fd, off);
}

#define host_trace_data_wanted host_trace_data_wanted
static inline bool host_trace_data_wanted(bool to_clear)
{
	return to_clear ? trace_binder_data_to_clear_enabled() : trace_binder_data_enabled();
}

#define host_trace_data host_trace_data
static inline void host_trace_data(const struct host_trace_data *data)
{
	if (data->to_clear)
		trace_binder_data_to_clear(data->id, data->bytes, data->size, data->objects);
	else
		trace_binder_data(data->id, data->bytes, data->size, data->objects);
}

/* ---- output ---- */

static inline void host_out(struct host_out *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_to_report(out, fmt, args);
	va_end(args);
}

static inline void host_log(enum host_log_level level, const char *fmt, ...)
{
	struct va_format text = { .fmt = fmt };
	va_list args;

	if (!log_wanted(level))
		return;
	va_start(args, fmt);
	text.va = &args;
	log_print(level == HOST_LOG_ERROR, &text);
	va_end(args);
}

static inline void host_notify_txn_failure(const struct host_txn_failure *failure)
{
	netlink_notify_failure(failure);
}

/* ---- measure.h ---- */

#define host_shard host_shard
static inline u32 host_shard(void)
{
	return raw_smp_processor_id();
}

#define host_trace_stages_wanted host_trace_stages_wanted
static inline bool host_trace_stages_wanted(void)
{
	return trace_binder_stage_enabled();
}

#define host_trace_stage host_trace_stage
static inline void host_trace_stage(enum host_stage stage, u32 id, u32 answers, s32 pid, s32 tid)
{
	trace_binder_stage(stage, id, answers, pid, tid);
}

#endif
