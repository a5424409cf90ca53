// SPDX-License-Identifier: GPL-2.0
/*
 * Workers that wait in a client's memory: noticed, charged to the client's user, and replaced.
 *
 * The watcher looks at the workers at intervals while any is busy. One that waits in the same step
 * as at the last look counts as stuck.
 */
#include "calls/stuck_workers.h"

#include "base/daemon_log.h"
#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "calls/open_file.h"
#include "clients/client_thread.h"
#include "clients/users.h"
#include "memory/user_account.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/expire.h"
#include "session/session.h"
#include "workers/worker_pool.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

/* Distinguishes a stuck worker from one that gets no processor time. */
static bool is_in_client_memory(const struct worker *worker)
{
	char text[128];
	int number;

	if (client_thread_read_file(worker->tid, "syscall", text, sizeof(text)) < 0)
		return false;
	/* "running" is converted to 0, the number of read(2) */
	number = atoi(text);
	/*
	 * session_notify_store() waits for a page of which a read is not answered yet;
	 * bound_buffer_publish() writes to what the client has mapped
	 */
	return number == SYS_process_vm_readv || number == SYS_process_vm_writev ||
	       number == SYS_writev || number == SYS_pwrite64;
}

/* Another thread serves in place of @worker and finishes its queued work. Pool lock held. */
static void pool_replace(struct worker *worker)
{
	if (worker->serves)
		daemon_self->pool->nr_serving--;
	if (worker->slow)
		daemon_self->pool->slow_is_served = false;
	atomic_store(&worker->stuck, true);
	worker_refuse(worker);
	pool_start_serving();
	if (!fair_queue_is_empty(daemon_self->slow_lane))
		pool_start_slow();
	if (worker_has_work_racy(worker))
		pool_start_worker(FINISHES, worker);
}

/* Counts @worker as stuck. Pool lock held. */
static void set_stuck(struct worker *worker)
{
	struct worker_pool *pool = daemon_self->pool;

	worker->stuck_file = open_file_add_stuck(atomic_load(&worker->open_id));
	if (!worker->stuck_file)
		return;
	atomic_fetch_add(&pool->nr_stuck, 1);
	log_info("a worker waits for a client's memory or process; %u are stuck",
		 atomic_load(&pool->nr_stuck));
	if (atomic_load(&worker->stuck))
		pool->nr_early--;
	else
		pool_replace(worker);
}

void pool_replace_self(void)
{
	struct worker_pool *pool = daemon_self->pool;
	struct worker *self = worker_self;

	guard_mutex(&pool->lock);
	if (self->in_use && !atomic_load(&self->stuck) && pool->nr_early < WORKERS_EARLY_MAX) {
		pool->nr_early++;
		/* the next check finds it in this step for the second time */
		self->seen = atomic_load(&self->progress);
		pool_replace(self);
	}
}

/*
 * Replies to a call in place of a worker that waits in a client's memory, where the client cannot
 * wait for it. A client that is being killed must be able to exit: the page fault may depend on
 * that very client. Otherwise the kernel may not permit requests to last longer. The worker's own
 * reply fails later. Other requests have another format of reply, and wait for no client.
 */
static void abort_if_overdue(struct worker *worker)
{
	u64 unique = atomic_load(&worker->unique);
	bool dying;

	if (!unique || !atomic_load(&worker->is_call) || atomic_load(&worker->aborted) == unique)
		return;
	dying = client_thread_is_dying(atomic_load(&worker->client_tid));
	if (!dying && !expire_is_due(atomic_load(&worker->stamp)))
		return;
	atomic_store(&worker->aborted, unique);
	session_reply_ioctl(unique, dying ? -EINTR : -EFAULT, NULL, 0);
}

/* The processor time in ms that @worker has used since the last check at which it was busy. */
static unsigned int time_used_ms(struct worker *worker)
{
	/* how the kernel names the clock of a thread of this process */
	clockid_t clock = (clockid_t)(~(unsigned int)worker->tid << 3 | 6);
	struct timespec now = { 0 };
	u64 before = worker->used_ns;

	clock_gettime(clock, &now);
	worker->used_ns = (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
	return (unsigned int)((worker->used_ns - before) / 1000000);
}

/* @unchanged: it is in the step of the last check. Pool lock held. */
static void check_busy(struct worker *worker, bool unchanged)
{
	unsigned int used_ms = time_used_ms(worker);

	if (!atomic_load(&worker->waiting) && !is_in_client_memory(worker)) {
		/* a call that takes long */
		if (unchanged)
			open_file_charge_time(atomic_load(&worker->open_id), used_ms);
		return;
	}
	if (expire_is_due(atomic_load(&worker->stamp)))
		abort_if_overdue(worker);
	open_file_charge_time(atomic_load(&worker->open_id), STUCK_CHECK_MS);
	if (unchanged && !worker->stuck_file &&
	    atomic_load(&daemon_self->pool->nr_stuck) < WORKERS_STUCK_MAX)
		set_stuck(worker);
}

/*
 * A worker that was replaced goes on when it can, may queue work for itself, and get stuck again.
 * Pool lock held.
 */
static void check_replaced(struct worker *worker, bool unchanged)
{
	abort_if_overdue(worker);
	if (unchanged && worker_has_work_racy(worker))
		pool_start_worker(FINISHES, worker);
}

/* Returns whether it is busy. Pool lock held. */
static bool check_worker(struct worker *worker)
{
	unsigned int progress = atomic_load(&worker->progress);
	bool unchanged = progress == worker->seen;

	if (atomic_load(&worker->stuck))
		check_replaced(worker, unchanged);
	if ((progress & 1) && !worker->stuck_file)
		check_busy(worker, unchanged);
	worker->seen = progress;
	return (progress & 1) || !unchanged || atomic_load(&worker->stuck);
}

bool pool_has_stuck(void)
{
	return atomic_load_explicit(&daemon_self->pool->nr_stuck, memory_order_relaxed);
}

/* If its client has died meanwhile, this may release the open, which wakes other threads. */
void pool_leave(struct worker *self)
{
	struct worker_pool *pool = daemon_self->pool;

	worker_refuse(self);
	guard_mutex(&pool->lock);
	if (atomic_load(&self->stuck)) {
		if (self->stuck_file) {
			atomic_fetch_sub(&pool->nr_stuck, 1);
			open_file_remove_stuck(self->stuck_file);
		} else {
			pool->nr_early--;
		}
		if (worker_has_work_racy(self) || !fair_queue_is_empty(daemon_self->backlog))
			pool_start_worker(FINISHES, self);
	} else if (self->serves) {
		pool->nr_serving--;
	} else if (self->slow) {
		pool->slow_is_served = false;
	}
	/* a call that was put there since the last look */
	if (!fair_queue_is_empty(daemon_self->slow_lane) && !gate_is_closed())
		pool_start_slow();
	self->in_use = false;
}

/* ---- coming to rest (gate.h) ---- */

/* Pool lock held. */
static bool is_delayed(const struct worker *worker)
{
	return worker->in_use && worker->member &&
	       atomic_load(&worker->member->state) == GATE_CLIENT;
}

bool pool_settle(bool late)
{
	struct worker *worker;
	bool done = true;

	guard_mutex(&daemon_self->pool->lock);
	for (unsigned int i = 0; (worker = worker_at(i)); i++) {
		if (!worker->in_use)
			continue;
		if (late && is_delayed(worker) && !atomic_load(&worker->stuck)) {
			daemon_self->pool->nr_early++;	/* until pool_check() finds it */
			pool_replace(worker);
		} else if (late && is_delayed(worker) && worker_has_work_racy(worker)) {
			pool_start_worker(FINISHES, worker);
		}
		done &= !worker_has_work_racy(worker);
	}
	return done;
}

void pool_visit_frozen(void (*visit)(const struct worker *worker, void *arg), void *arg)
{
	struct worker *worker;

	guard_mutex(&daemon_self->pool->lock);
	for (unsigned int i = 0; (worker = worker_at(i)); i++) {
		u64 unique = atomic_load(&worker->unique);

		if (is_delayed(worker) && unique && atomic_load(&worker->aborted) != unique)
			visit(worker, arg);
	}
}

void pool_reopen(void)
{
	guard_mutex(&daemon_self->pool->lock);
	if (!fair_queue_is_empty(daemon_self->backlog))
		pool_start_worker(FINISHES, NULL);
	if (!fair_queue_is_empty(daemon_self->slow_lane))
		pool_start_slow();
}

bool pool_check(void)
{
	struct worker *worker;
	bool busy;

	congestion_sample();
	busy = user_time_pay(STUCK_CHECK_MS);
	pthread_mutex_lock(&daemon_self->pool->lock);
	for (unsigned int i = 0; (worker = worker_at(i)); i++)
		if (worker->in_use)
			busy |= check_worker(worker);
	/* if that failed before */
	pool_start_serving();
	if (!fair_queue_is_empty(daemon_self->slow_lane))
		pool_start_slow();
	pthread_mutex_unlock(&daemon_self->pool->lock);
	account_trim(!busy);
	return busy;
}
