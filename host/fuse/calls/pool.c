// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of threads that serve requests.
 *
 * A worker reads a request, has it handled, and finishes the parked calls that it woke. The pool
 * itself (which workers exist, serve, are stuck) changes only when a worker gets stuck or free
 * again; one mutex guards it.
 */
#include "calls/pool.h"

#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/libc.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "base/thread.h"
#include "calls/affinity.h"
#include "calls/client_call.h"
#include "calls/open_file.h"
#include "calls/watch.h"
#include "clients/client_thread.h"
#include "clients/users.h"
#include "memory/account.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/expire.h"
#include "session/session.h"
#include "workers/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
	const struct pool_handlers *handlers;
	atomic_uint nr_stuck;
	pthread_mutex_t lock;		/* guards the rest, and changes of @nr_stuck */
	unsigned int nr_wanted;
	unsigned int nr_serving;	/* not counting stuck ones */
	unsigned int nr_early;		/* replaced before they count as stuck */
	bool slow_is_served;
};

static void worker_main(void *arg);

enum worker_kind { SERVES, SERVES_SLOW, FINISHES };

/*
 * Starts a thread that serves requests or the slow lane, or else finishes the work of @from. Pool
 * lock held.
 */
static bool start_worker(enum worker_kind kind, struct worker *from)
{
	struct worker *worker = worker_alloc();

	if (!worker)
		return false;
	worker->serves = kind == SERVES;
	worker->slow = kind == SERVES_SLOW;
	if (from)
		worker_move_work(worker, from);
	if (!thread_start(worker_main, worker))
		return true;
	if (from)
		worker_move_work(from, worker);
	worker->in_use = false;
	return false;
}

/* Starts what is missing. Pool lock held. */
static bool start_serving(void)
{
	bool ok = true;

	while (ok && daemon_self->pool->nr_serving < daemon_self->pool->nr_wanted) {
		ok = start_worker(SERVES, NULL);
		daemon_self->pool->nr_serving += ok;
	}
	return ok;
}

void pool_init(const struct pool_handlers *handlers)
{
	struct pool *pool = daemon_part(pool);

	pthread_mutex_init(&pool->lock, NULL);
	pool->handlers = handlers;
}

bool pool_start(unsigned int count)
{
	affinity_init(count);
	guard_mutex(&daemon_self->pool->lock);
	daemon_self->pool->nr_wanted = count;
	return start_serving();
}

void pool_hand_over(struct worker *worker)
{
	bool ok = true;

	pthread_mutex_lock(&daemon_self->pool->lock);
	if (worker_has_work_racy(worker))
		ok = start_worker(FINISHES, worker);
	pthread_mutex_unlock(&daemon_self->pool->lock);
	if (!ok)
		log_error("cannot start a thread; some clients will wait");
}

static void start_slow(void)
{
	if (!daemon_self->pool->slow_is_served)
		daemon_self->pool->slow_is_served = start_worker(SERVES_SLOW, NULL);
}

void pool_serve_slow(void)
{
	guard_mutex(&daemon_self->pool->lock);
	start_slow();
}

/*
 * Leaves the pool; if it was stuck, its client can be served again. If the client has died
 * meanwhile, this may release its open, which wakes other threads.
 */
static void leave_pool(struct worker *self)
{
	struct pool *pool = daemon_self->pool;

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
			start_worker(FINISHES, self);
	} else if (self->serves) {
		pool->nr_serving--;
	} else if (self->slow) {
		pool->slow_is_served = false;
	}
	/* a call that was put there since the last look */
	if (!fair_queue_is_empty(daemon_self->slow_lane) && !gate_is_closed())
		start_slow();
	self->in_use = false;
}

static void continue_one(void)
{
	worker_begin_request(0);
	watch_arm_check();
	daemon_self->pool->handlers->continue_one();
	daemon_self->pool->handlers->finish_woken();
	worker_end_request();
}

/*
 * Finishes the work taken over from another worker. That includes the backlog: all workers that
 * serve may be waiting for requests.
 */
static void finish_work(struct worker *self)
{
	struct host_thread *thread = atomic_load(&self->deferred);

	worker_begin_request(0);
	watch_arm_check();
	if (thread) {
		atomic_store(&self->deferred, NULL);
		call_reply(thread, self->deferred_result);
	}
	daemon_self->pool->handlers->finish_woken();
	worker_end_request();
	while (!fair_queue_is_empty(daemon_self->backlog) && !atomic_load(&self->stuck) &&
	       !gate_is_closed())
		continue_one();
}

static void serve_slow(struct worker *self)
{
	while (!fair_queue_is_empty(daemon_self->slow_lane) && !atomic_load(&self->stuck) &&
	       !gate_is_closed()) {
		worker_begin_request(0);
		watch_arm_check();
		daemon_self->pool->handlers->serve_slow();
		daemon_self->pool->handlers->finish_woken();
		worker_end_request();
	}
}

/* Does all that other workers have left to this one; they leave it nothing any more. */
static void begin_sleep(void)
{
	while (!worker_begin_sleep()) {
		worker_begin_request(0);
		watch_arm_check();
		daemon_self->pool->handlers->finish_woken();
		worker_end_request();
	}
}

static bool read_request(struct request *request, void *buffer)
{
	bool ok;

	begin_sleep();
	ok = session_read(request, buffer);
	worker_end_sleep();
	affinity_note_worker();
	return ok;
}

/* Reads and serves one request. False: the file system was unmounted. */
static bool serve_one(void *buffer)
{
	struct request request;

	if (!read_request(&request, buffer))
		return false;
	congestion_note(request.head->uid);
	worker_begin_request(request.head->unique);
	watch_arm_check();
	daemon_self->pool->handlers->serve(&request);
	daemon_self->pool->handlers->finish_woken();
	worker_end_request();
	return true;
}

/*
 * Serves a request, or more if they only go to the backlog; if there is a backlog, only those that
 * wait. False: the file system was unmounted.
 */
static bool serve_some(struct worker *self, void *buffer, bool idle)
{
	unsigned int most = congestion_is_on() ? CONGESTION_READS : 1;
	bool ok = true;

	for (; ok && most && (idle || session_has_request()); most--) {
		ok = serve_one(buffer);
		if (idle || atomic_load(&self->stuck))
			break;
	}
	return ok;
}

static void serve_requests(struct worker *self)
{
	/* aligned: a request in one page, for each of which the kernel looks the memory up */
	void *buffer = aligned_alloc(4096, SESSION_BUFFER_SIZE);

	while (buffer && !atomic_load(&self->stuck)) {
		bool idle;

		if (gate_is_closed()) {
			begin_sleep();
			gate_rest();
			worker_end_sleep();
			continue;
		}
		idle = fair_queue_is_empty(daemon_self->backlog);
		if (!serve_some(self, buffer, idle)) {
			kill(getpid(), SIGTERM);	/* end the daemon */
			break;
		}
		if (!idle)
			continue_one();
	}
	free(buffer);
}

static void worker_main(void *arg)
{
	struct worker *self = arg;

	drop_rseq();
	worker_set_self(self);
	self->tid = gettid();
	pthread_mutex_lock(&daemon_self->pool->lock);
	self->member = gate_self;
	pthread_mutex_unlock(&daemon_self->pool->lock);
	if (self->serves)
		serve_requests(self);
	else if (self->slow)
		serve_slow(self);
	else
		finish_work(self);
	leave_pool(self);
}

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
	start_serving();
	if (!fair_queue_is_empty(daemon_self->slow_lane))
		start_slow();
	if (worker_has_work_racy(worker))
		start_worker(FINISHES, worker);
}

/* Counts @worker as stuck. Pool lock held. */
static void set_stuck(struct worker *worker)
{
	struct pool *pool = daemon_self->pool;

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
	struct pool *pool = daemon_self->pool;
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
	open_file_charge_time(atomic_load(&worker->open_id), WATCH_CHECK_MS);
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
		start_worker(FINISHES, worker);
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
			start_worker(FINISHES, worker);
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
		start_worker(FINISHES, NULL);
	if (!fair_queue_is_empty(daemon_self->slow_lane))
		start_slow();
}

bool pool_check(void)
{
	struct worker *worker;
	bool busy;

	congestion_sample(session_has_request);
	busy = user_time_pay(WATCH_CHECK_MS);
	pthread_mutex_lock(&daemon_self->pool->lock);
	for (unsigned int i = 0; (worker = worker_at(i)); i++)
		if (worker->in_use)
			busy |= check_worker(worker);
	/* if that failed before */
	start_serving();
	if (!fair_queue_is_empty(daemon_self->slow_lane))
		start_slow();
	pthread_mutex_unlock(&daemon_self->pool->lock);
	account_trim(!busy);
	return busy;
}
