// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of threads that serve requests: starting them, and handing work over to them; and a
 * thread for work that takes long, which exists while there is some.
 */
#include "workers/worker_pool.h"

#include "base/daemon_log.h"
#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/libc.h"
#include "base/locks.h"
#include "base/thread.h"

static void run_worker(void *arg)
{
	struct worker *self = arg;

	drop_rseq();
	worker_set_self(self);
	self->tid = gettid();
	pthread_mutex_lock(&daemon_self->pool->lock);
	self->member = gate_self;
	pthread_mutex_unlock(&daemon_self->pool->lock);
	daemon_self->pool->body(self);
}

bool pool_start_worker(enum worker_kind kind, struct worker *from)
{
	struct worker *worker = worker_alloc();

	if (!worker)
		return false;
	worker->serves = kind == SERVES;
	worker->slow = kind == SERVES_SLOW;
	if (from)
		worker_move_work(worker, from);
	if (!thread_start(run_worker, worker))
		return true;
	if (from)
		worker_move_work(from, worker);
	worker->in_use = false;
	return false;
}

bool pool_start_serving(void)
{
	bool ok = true;

	while (ok && daemon_self->pool->nr_serving < daemon_self->pool->nr_wanted) {
		ok = pool_start_worker(SERVES, NULL);
		daemon_self->pool->nr_serving += ok;
	}
	return ok;
}

void pool_init(void (*body)(struct worker *self))
{
	pthread_mutex_init(&daemon_part(pool)->lock, NULL);
	daemon_self->pool->body = body;
}

bool pool_start(unsigned int count)
{
	guard_mutex(&daemon_self->pool->lock);
	daemon_self->pool->nr_wanted = count;
	return pool_start_serving();
}

void pool_hand_over(struct worker *worker)
{
	bool ok = true;

	pthread_mutex_lock(&daemon_self->pool->lock);
	if (worker_has_work_racy(worker))
		ok = pool_start_worker(FINISHES, worker);
	pthread_mutex_unlock(&daemon_self->pool->lock);
	if (!ok)
		log_error("cannot start a thread, so some clients will wait: raise the limit of "
			  "threads (ulimit -u, or pids.max of the control group)");
}

void pool_start_slow(void)
{
	if (!daemon_self->pool->slow_is_served)
		daemon_self->pool->slow_is_served = pool_start_worker(SERVES_SLOW, NULL);
}

void pool_serve_slow(void)
{
	guard_mutex(&daemon_self->pool->lock);
	pool_start_slow();
}

void pool_begin_memory(void)
{
	if (worker_self->slow && worker_has_work_racy(worker_self))
		pool_hand_over(worker_self);
}

/* ---- work that takes long ---- */

struct workqueue {
	pthread_mutex_t lock;
	struct work *first;
	struct work **end;
	bool running;			/* the thread */
};

void workqueue_init(void)
{
	struct workqueue *queue = daemon_part(workqueue);

	pthread_mutex_init(&queue->lock, NULL);
	queue->end = &queue->first;
}

/* NULL: there is no more, and the thread ends. */
static struct work *next_work(struct workqueue *queue)
{
	guard_mutex(&queue->lock);
	struct work *work = queue->first;

	if (work)
		queue->first = work->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->running = work;
	return work;
}

static void workqueue_main(void *arg)
{
	struct workqueue *queue = arg;
	struct worker self = { 0 };
	struct work *work;

	worker_set_self(&self);
	while ((work = next_work(queue))) {
		work->run(work);
		pool_hand_over(&self);
	}
}

bool workqueue_add(struct work *work)
{
	struct workqueue *queue = daemon_self->workqueue;

	guard_mutex(&queue->lock);
	/* the thread waits for the lock before it looks for work */
	queue->running = queue->running || !thread_start(workqueue_main, queue);
	if (queue->running) {
		work->next = NULL;
		*queue->end = work;
		queue->end = &work->next;
	}
	return queue->running;
}
