// SPDX-License-Identifier: GPL-2.0
/* The state of each thread that calls the engine. */
#include "workers/worker.h"

#include "base/daemon_state.h"
#include "base/locks.h"
#include "core.h"
#include "session/expire.h"
#include "session/session.h"

_Thread_local struct worker *worker_self;

struct worker_table {
	struct worker workers[WORKERS_MAX];
	atomic_uint nr;		/* those beyond were never in use */
};

/* Accesses to what a worker's lock guards, which orders them; reads without it are racy. */
#define get(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define set(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

void worker_table_init(void)
{
	daemon_part(workers);
}

void worker_set_self(struct worker *worker)
{
	worker_self = worker;
}

/* ---- what it is doing ---- */

/* The worker alone writes its progress, so no atomic operation is needed. */
static void worker_advance(struct worker *self, unsigned int steps)
{
	atomic_store_explicit(&self->progress,
			      atomic_load_explicit(&self->progress, memory_order_relaxed) + steps,
			      memory_order_release);
}

/*
 * An INTERRUPT that does not see the request yet is sent again by the kernel. The stamp is stored
 * before the request: a thread that sees the request does not see an older stamp.
 */
void worker_begin_request(u64 unique)
{
	atomic_store_explicit(&worker_self->stamp, expire_stamp(), memory_order_relaxed);
	atomic_store_explicit(&worker_self->is_call, false, memory_order_relaxed);
	atomic_store_explicit(&worker_self->unique, unique, memory_order_release);
	atomic_store_explicit(&worker_self->open_id, 0, memory_order_relaxed);
	worker_advance(worker_self, 1);
}

void worker_set_request(u64 unique)
{
	atomic_store_explicit(&worker_self->unique, unique, memory_order_release);
}

void worker_end_request(void)
{
	atomic_store_explicit(&worker_self->unique, 0, memory_order_release);
	worker_advance(worker_self, 1);
}

void worker_begin_step(const struct host_thread *thread)
{
	struct worker *self = worker_self;

	atomic_store_explicit(&self->stamp, thread->request.stamp, memory_order_relaxed);
	atomic_store_explicit(&self->unique, thread->request.unique, memory_order_release);
	atomic_store_explicit(&self->client_tid, thread->tid, memory_order_relaxed);
	atomic_store_explicit(&self->is_call, true, memory_order_release);
	atomic_store_explicit(&self->open_id, thread->proc->open_id, memory_order_relaxed);
	worker_advance(self, 2);
}

u64 worker_begin_wait(u64 open_id)
{
	u64 before = atomic_exchange(&worker_self->open_id, open_id);

	atomic_store(&worker_self->waiting, true);
	worker_advance(worker_self, 2);
	return before;
}

void worker_end_wait(u64 before)
{
	atomic_store(&worker_self->waiting, false);
	atomic_store(&worker_self->open_id, before);
	worker_advance(worker_self, 2);
}

bool worker_set_interrupted(u64 unique)
{
	unsigned int count = atomic_load(&daemon_self->workers->nr);

	for (unsigned int i = 0; i < count; i++) {
		if (atomic_load(&daemon_self->workers->workers[i].unique) == unique) {
			atomic_store(&daemon_self->workers->workers[i].interrupted, unique);
			return true;
		}
	}
	return false;
}

bool worker_was_interrupted(u64 unique)
{
	return atomic_load(&worker_self->interrupted) == unique;
}

/* ---- the work that it has queued for itself ---- */

/* Lock of @worker held. */
static void worker_append_woken(struct worker *worker, struct host_thread *thread)
{
	thread->woken.next = NULL;
	if (get(worker->woken_first))
		worker->woken_last->woken.next = thread;
	else
		set(worker->woken_first, thread);
	worker->woken_last = thread;
}

void worker_push_woken(struct host_thread *thread)
{
	guard_spin(&worker_self->lock);
	worker_append_woken(worker_self, thread);
}

bool worker_give(struct worker *to, struct host_thread *thread)
{
	if (!get(to->awake))	/* looked at again below */
		return false;
	guard_spin(&to->lock);
	if (!get(to->awake))
		return false;
	worker_append_woken(to, thread);
	return true;
}

bool worker_begin_sleep(void)
{
	guard_spin(&worker_self->lock);
	if (get(worker_self->woken_first))
		return false;
	set(worker_self->awake, false);
	return true;
}

/* Without the lock: a thread that does not see it yet keeps its call. */
void worker_end_sleep(void)
{
	set(worker_self->awake, true);
}

void worker_refuse(struct worker *worker)
{
	guard_spin(&worker->lock);
	set(worker->awake, false);
}

/*
 * Racy: others may queue while this worker is at work (it looks again before it sleeps), and
 * another thread may take over the list, so after true worker_pop_woken() may still find nothing.
 */
bool worker_has_woken(void)
{
	return get(worker_self->woken_first);
}

struct host_thread *worker_pop_woken(void)
{
	struct host_thread *thread;

	if (!worker_has_woken())
		return NULL;
	guard_spin(&worker_self->lock);
	thread = get(worker_self->woken_first);
	if (thread)
		set(worker_self->woken_first, thread->woken.next);
	return thread;
}

void worker_arm_poll(struct host_proc *proc, u64 handle)
{
	atomic_store(&proc->poll_handle, handle);
	atomic_store(&proc->poll_armed, true);
}

void worker_queue_poll(struct host_proc *proc)
{
	/* a notification that has not been sent yet covers this event too */
	if (atomic_exchange(&proc->poll_queued, true))
		return;
	atomic_store(&proc->poll_armed, false);
	binder_proc_get(binder_proc_of_host(proc));
	guard_spin(&worker_self->lock);
	proc->next_polled = get(worker_self->polled_first);
	set(worker_self->polled_first, proc);
}

static struct host_proc *take_polled(void)
{
	if (!get(worker_self->polled_first))	/* see worker_has_woken() */
		return NULL;
	guard_spin(&worker_self->lock);
	struct host_proc *first = get(worker_self->polled_first);

	set(worker_self->polled_first, NULL);
	return first;
}

void worker_notify_polled(void)
{
	struct host_proc *next;

	for (struct host_proc *proc = take_polled(); proc; proc = next) {
		next = proc->next_polled;
		atomic_store(&proc->poll_queued, false);
		session_notify_poll(atomic_load(&proc->poll_handle));
		binder_proc_put(binder_proc_of_host(proc));
	}
}

void worker_defer_reply(struct host_thread *thread, int result)
{
	guard_spin(&worker_self->lock);
	set(worker_self->deferred, thread);
	worker_self->deferred_result = result;
}

bool worker_take_deferred(void)
{
	guard_spin(&worker_self->lock);
	bool is_ours = get(worker_self->deferred);

	set(worker_self->deferred, NULL);
	return is_ours;
}

void worker_add_work(struct work *work)
{
	struct worker *self = worker_self;

	guard_spin(&self->lock);
	work->next = NULL;
	if (get(self->works_first))
		self->works_last->next = work;
	else
		set(self->works_first, work);
	self->works_last = work;
}

bool worker_run_work(void)
{
	struct worker *self = worker_self;
	struct work *work;

	if (!get(self->works_first))	/* see worker_has_woken() */
		return false;
	host_spin_lock(&self->lock);
	work = get(self->works_first);
	if (work)
		set(self->works_first, work->next);
	host_spin_unlock(&self->lock);
	if (work)
		work->run(work);
	return work;
}

bool worker_has_work_racy(const struct worker *worker)
{
	return get(worker->woken_first) ||
	       get(worker->works_first) ||
	       get(worker->polled_first) ||
	       get(worker->deferred);
}

void worker_move_work(struct worker *to, struct worker *from)
{
	guard_spin(&from->lock);
	set(to->woken_first, get(from->woken_first));
	to->woken_last = from->woken_last;
	set(to->polled_first, get(from->polled_first));
	set(to->works_first, get(from->works_first));
	to->works_last = from->works_last;
	set(to->deferred, get(from->deferred));
	to->deferred_result = from->deferred_result;
	set(from->woken_first, NULL);
	set(from->polled_first, NULL);
	set(from->works_first, NULL);
	set(from->deferred, NULL);
}

/* ---- the table of workers ---- */

struct worker *worker_alloc(void)
{
	for (unsigned int i = 0; i < WORKERS_MAX; i++) {
		struct worker *worker = &daemon_self->workers->workers[i];

		if (worker->in_use)
			continue;
		if (i >= atomic_load(&daemon_self->workers->nr))
			atomic_store(&daemon_self->workers->nr, i + 1);
		worker->in_use = true;
		worker->seen = 0;
		worker->member = NULL;
		set(worker->awake, false);
		worker_set_core(worker, 0);
		atomic_store(&worker->progress, 0);
		atomic_store(&worker->stuck, false);
		worker->stuck_file = NULL;
		return worker;
	}
	return NULL;
}

struct worker *worker_at(unsigned int index)
{
	struct worker_table *table = daemon_self->workers;

	return index < atomic_load(&table->nr) ? &table->workers[index] : NULL;
}
