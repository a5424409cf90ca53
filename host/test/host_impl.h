/* SPDX-License-Identifier: GPL-2.0 */
/* The operations of host.h and measure.h for the test host; they are described there. */
#ifndef ANYBINDER_TEST_HOST_IMPL_H
#define ANYBINDER_TEST_HOST_IMPL_H

#include <stdarg.h>
#include <string.h>

#include "bytes.h"
#include "fiber.h"
#include "sim.h"

static inline void *host_alloc(const struct host_proc *owner, size_t size)
{
	return sim_alloc(owner, SIM_ALLOC, size);
}

static inline void *host_alloc_large(const struct host_proc *owner, size_t size)
{
	return sim_alloc(owner, SIM_ALLOC_LARGE, size);
}

static inline void host_free(void *ptr)
{
	sim_free(ptr);
}

static inline void host_spin_init(struct host_spinlock *lock, u32 class)
{
	(void)class;
	sim_lock_init(&lock->lock);
}

static inline void host_spin_lock(struct host_spinlock *lock)
{
	sim_lock(&lock->lock, true);
}

static inline void host_spin_unlock(struct host_spinlock *lock)
{
	sim_unlock(&lock->lock, true);
}

static inline void host_spin_destroy(struct host_spinlock *lock)
{
	sim_lock_destroy(&lock->lock);
}

static inline u32 *host_lock_ranks(void)
{
	return sim_lock_ranks();
}

static inline void host_pi_mutex_init(struct host_pi_mutex *lock, u32 class)
{
	(void)class;
	sim_lock_init(&lock->lock);
}

static inline void host_pi_mutex_lock(struct host_pi_mutex *lock)
{
	sim_may_sleep("host_pi_mutex_lock");
	sim_lock(&lock->lock, false);
}

static inline bool host_pi_mutex_trylock(struct host_pi_mutex *lock)
{
	return sim_trylock(&lock->lock, false);
}

static inline void host_pi_mutex_unlock(struct host_pi_mutex *lock)
{
	sim_unlock(&lock->lock, false);
}

static inline void host_pi_mutex_destroy(struct host_pi_mutex *lock)
{
	sim_lock_destroy(&lock->lock);
}

static inline s32 host_atomic_read(const struct host_atomic *a)
{
	return __atomic_load_n(&a->value, __ATOMIC_RELAXED);
}

static inline void host_atomic_set(struct host_atomic *a, s32 value)
{
	__atomic_store_n(&a->value, value, __ATOMIC_RELAXED);
}

static inline s32 host_atomic_add_return(struct host_atomic *a, s32 delta)
{
	fiber_point();
	return __atomic_add_fetch(&a->value, delta, __ATOMIC_SEQ_CST);
}

static inline void host_atomic_add(struct host_atomic *a, s32 delta)
{
	fiber_point();
	__atomic_fetch_add(&a->value, delta, __ATOMIC_RELAXED);
}

static inline void host_wake(struct host_thread *thread, bool sync)
{
	(void)sync;
	__atomic_store_n(&thread->sim->woken, true, __ATOMIC_SEQ_CST);
	fiber_wake(thread->sim->fiber);
	fiber_point();
}

static inline void host_wake_poll(struct host_proc *proc, struct host_thread *thread)
{
	(void)thread;
	__atomic_add_fetch(&sim_stats.poll_wakes, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&proc->sim->polled, true, __ATOMIC_RELAXED);
	fiber_wake(proc->sim->poller);
	fiber_point();
}

static inline int host_proc_init(struct host_proc *proc, struct host_map *map, const void *opener)
{
	int err;

	sim_may_sleep("host_proc_init");
	err = sim_fails(SIM_PROC_INIT);
	proc->sim = (struct sim_proc *)opener;
	map->sim = proc->sim;
	return err;
}

static inline void host_proc_destroy(struct host_proc *proc, struct host_map *map)
{
	sim_may_sleep("host_proc_destroy");
	proc->sim = NULL;
	map->sim = NULL;
}

static inline int host_thread_init(struct host_thread *thread, struct host_proc *proc,
				   const void *opener)
{
	(void)proc;
	sim_may_sleep("host_thread_init");
	thread->sim = (struct sim_thread *)opener;
	return sim_fails(SIM_THREAD_INIT);
}

static inline void host_thread_destroy(struct host_thread *thread)
{
	sim_may_sleep("host_thread_destroy");
	thread->sim = NULL;
}

static inline s32 host_proc_pid(const struct host_proc *proc)
{
	return proc->sim->pid;
}

static inline bool host_proc_has_pid(const struct host_proc *proc,
				     const struct host_proc *viewer, s32 pid)
{
	(void)viewer;
	return proc->sim->pid == pid;
}

static inline s32 host_proc_pid_seen_by(const struct host_proc *subject,
					const struct host_proc *viewer)
{
	(void)viewer;
	sim_may_sleep("host_proc_pid_seen_by");
	return subject->sim->pid;
}

static inline u32 host_sender_euid(const struct host_proc *sender,
				   const struct host_thread *caller, const struct host_proc *viewer)
{
	(void)caller;
	(void)viewer;
	sim_may_sleep("host_sender_euid");
	return sender->sim->euid;
}

static inline u32 host_caller_euid(const struct host_thread *caller)
{
	return caller->sim->proc->euid;
}

static inline int host_read_caller(struct host_thread *thread, void *dst, u64 src, size_t size)
{
	int err;

	sim_may_sleep("host_read_caller");
	err = sim_fails(SIM_READ_CALLER);
	return err ? err : sim_read(thread->sim->proc, dst, src, size);
}

static inline int host_write_caller(struct host_thread *thread, u64 dst, const void *src,
				    size_t size)
{
	int err;

	sim_may_sleep("host_write_caller");
	err = sim_fails(SIM_WRITE_CALLER);
	return err ? err : sim_write(thread->sim->proc, dst, src, size);
}

static inline int host_map_find(struct host_map *map, struct host_proc *proc, u64 *base,
				size_t *size)
{
	int err;

	(void)proc;
	sim_may_sleep("host_map_find");
	err = sim_fails(SIM_MAP_FIND);
	if (!err && (!map->sim->map_size || map->sim->unmapped))
		err = -ESRCH;
	*base = map->sim->map_base;
	*size = map->sim->map_size;
	return err;
}

static inline bool host_map_present(const struct host_map *map)
{
	return map->sim->map_size && !map->sim->unmapped;
}

static inline int host_map_populate(struct host_map *map, size_t first, size_t nr)
{
	int err;

	sim_may_sleep("host_map_populate");
	err = sim_fails(SIM_MAP_POPULATE);
	return err ? err : sim_map_populate(map->sim, first, nr);
}

static inline void host_map_evict(struct host_map *map, size_t first, size_t nr)
{
	sim_may_sleep("host_map_evict");
	sim_map_evict(map->sim, first, nr);
}

static inline int host_map_write(struct host_map *map, size_t off, const void *src, size_t size)
{
	int err;

	sim_may_sleep("host_map_write");
	err = sim_fails(SIM_MAP_WRITE);
	if (!err)
		memcpy(sim_map_range(map->sim, off, size), src, size);
	return err;
}

static inline int host_map_copy(struct host_map *map, size_t off, struct host_thread *from, u64 src,
				size_t size)
{
	int err;

	sim_may_sleep("host_map_copy");
	err = from->sim->proc->dying ? -ESRCH : sim_fails(SIM_MAP_COPY);
	return err ? err : sim_read(from->sim->proc, sim_map_range(map->sim, off, size), src, size);
}

static inline void host_map_zero(struct host_map *map, size_t off, size_t size)
{
	sim_may_sleep("host_map_zero");
	memset(sim_map_range(map->sim, off, size), 0, size);
}

static inline void host_map_publish(struct host_map *map, size_t off, size_t size)
{
	sim_may_sleep("host_map_publish");
	sim_map_range(map->sim, off, size);
}

static inline int host_file_get(struct host_thread *caller, u32 fd, struct host_file **file)
{
	int err;

	sim_may_sleep("host_file_get");
	err = sim_fails(SIM_FILE_GET);
	return err ? err : sim_file_get(caller->sim->proc, fd, file);
}

static inline void host_file_put(struct host_file *file)
{
	sim_may_sleep("host_file_put");
	sim_file_put(file);
}

static inline int host_files_install(struct host_thread *receiver, u64 cookie,
				     struct host_file **files, u32 nr, u32 *fds)
{
	struct sim_thread *thread = receiver->sim;
	int err;

	sim_may_sleep("host_files_install");
	err = sim_fails(SIM_FILES_INSTALL);
	if (err)
		return err;
	if (thread->proc->dying)
		return -ESRCH;
	if (thread->proc->fds_later && thread->later_cookie != cookie) {
		thread->later_cookie = cookie;
		return HOST_FDS_LATER;
	}
	thread->later_cookie = 0;
	return sim_files_install(thread->proc, files, nr, fds);
}

static inline void host_fds_close(struct host_thread *owner, const u32 *fds, u32 nr)
{
	u32 i;

	sim_may_sleep("host_fds_close");
	sim_closes();
	for (i = 0; i < nr; i++)
		sim_file_close(owner->sim->proc, fds[i]);
}

static inline int host_may_manage(const struct host_proc *proc)
{
	(void)proc;
	sim_may_sleep("host_may_manage");
	return sim_fails(SIM_MAY_MANAGE);
}

static inline int host_may_transact(const struct host_proc *from, const struct host_proc *to)
{
	(void)from;
	(void)to;
	sim_may_sleep("host_may_transact");
	return sim_fails(SIM_MAY_TRANSACT);
}

static inline int host_may_transfer_object(const struct host_proc *from, const struct host_proc *to)
{
	(void)from;
	(void)to;
	sim_may_sleep("host_may_transfer_object");
	return sim_fails(SIM_MAY_TRANSFER_OBJECT);
}

static inline int host_may_transfer_file(const struct host_proc *from, const struct host_proc *to,
					 struct host_file *file)
{
	(void)from;
	(void)to;
	(void)file;
	sim_may_sleep("host_may_transfer_file");
	return sim_fails(SIM_MAY_TRANSFER_FILE);
}

static inline int host_may_freeze(const struct host_thread *caller, const struct host_proc *target,
				  bool manages)
{
	sim_may_sleep("host_may_freeze");
	if (caller->sim->proc->may_not_freeze && !manages && caller->sim->proc != target->sim)
		return -EPERM;
	return sim_fails(SIM_MAY_FREEZE);
}

static inline int host_secctx_get(const struct host_proc *proc, const char **ctx, u32 *len)
{
	int err;

	sim_may_sleep("host_secctx_get");
	err = sim_fails(SIM_SECCTX_GET);
	if (err)
		return err;
	*ctx = proc->sim->secctx;
	*len = *ctx ? (u32)strlen(*ctx) : 0;
	if (*ctx) /* host_secctx_put() is called for these only */
		__atomic_add_fetch(&sim_stats.secctxs, 1, __ATOMIC_RELAXED);
	return 0;
}

static inline void host_secctx_put(const char *ctx, u32 len)
{
	(void)ctx;
	(void)len;
	sim_may_sleep("host_secctx_put");
	__atomic_sub_fetch(&sim_stats.secctxs, 1, __ATOMIC_RELAXED);
}

static inline struct host_priority host_priority_of_opener(const struct host_proc *proc,
							   const void *opener)
{
	sim_may_sleep("host_priority_of_opener");
	return ((const struct sim_proc *)opener)->opener;
}

static inline struct host_priority host_priority_get(struct host_thread *caller)
{
	sim_may_sleep("host_priority_get");
	return *caller->sim->priority;
}

static inline bool sim_is_realtime(struct host_priority priority)
{
	return priority.policy == 1 || priority.policy == 2;
}

static inline void host_priority_set(struct host_thread *thread, struct host_priority want,
				     bool check)
{
	sim_may_sleep("host_priority_set");
	if (check && sim_is_realtime(want) && !thread->sim->proc->may_rt)
		want = (struct host_priority){ .policy = 0, .prio = -20 };
	if (!sim_is_realtime(want) && !sim_is_realtime(*thread->sim->priority))
		want.policy = thread->sim->priority->policy;
	*thread->sim->priority = want;
}

static inline u64 host_now_ns(void)
{
	if (fiber_current)
		return fiber_now_ns();
	/* increases, and is the same in every run of a test with one thread */
	return __atomic_load_n(&sim_stats.calls, __ATOMIC_RELAXED);
}

static inline void host_out(struct host_out *out, const char *fmt, ...)
{
	va_list args;

	sim_may_sleep("host_out");
	va_start(args, fmt);
	sim_out(out, fmt, args);
	va_end(args);
}

static inline void host_log(enum host_log_level level, const char *fmt, ...)
{
	va_list args;

	(void)level;
	sim_may_sleep("host_log");
	if (fiber_current && !sim_verbose)
		return; /* the unit tests check the arguments */
	va_start(args, fmt);
	sim_log(fmt, args);
	va_end(args);
}

static inline void host_notify_txn_failure(const struct host_txn_failure *failure)
{
	sim_may_sleep("host_notify_txn_failure");
	sim_keep_failure(failure);
}

/* ---- measure.h ---- */

#define host_shard host_shard
static inline u32 host_shard(void)
{
	return __atomic_load_n(&sim_shard, __ATOMIC_RELAXED);
}

#define host_trace_stages_wanted host_trace_stages_wanted
static inline bool host_trace_stages_wanted(void)
{
	return sim_stages_wanted;
}

#define host_trace_stage host_trace_stage
static inline void host_trace_stage(enum host_stage stage, u32 id, u32 answers, s32 pid, s32 tid)
{
	const struct sim_stage record = { stage, id, answers, pid, tid };

	sim_stage_record(&record);
}

#define host_trace_priorities_wanted host_trace_priorities_wanted
static inline bool host_trace_priorities_wanted(void)
{
	return sim_priorities_wanted;
}

#define host_trace_priorities host_trace_priorities
static inline void host_trace_priorities(u32 id, const struct host_priority *caller,
					 struct host_priority served)
{
	sim_priorities = (struct sim_priorities){ .id = id, .served = served };
	if (caller)
		sim_priorities.caller = *caller;
	sim_priorities.has_caller = caller != NULL;
}

#define host_trace_data_wanted host_trace_data_wanted
static inline bool host_trace_data_wanted(bool to_clear)
{
	return to_clear ? sim_data_to_clear_wanted : sim_data_wanted;
}

#define host_trace_data host_trace_data
static inline void host_trace_data(const struct host_trace_data *data)
{
	sim_data_record(data);
}

#endif
