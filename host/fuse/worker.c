// SPDX-License-Identifier: GPL-2.0
/*
 * The threads that serve requests.
 *
 * The loop is: read a request, have it dispatched, finish the parked calls that it woke. The pool
 * itself (who serves, who was written off) changes only when a worker gets stuck, under one mutex.
 */
#include "worker.h"

#include "caller.h"
#include "core.h"
#include "device.h"
#include "dispatch.h"
#include "log.h"
#include "park.h"
#include "session.h"
#include "watch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Workers that may be stuck at once: beyond these, stuck ones are not replaced. */
#define SPARES 64u
#define SLOTS (64u + 2 * SPARES)

#define STACK_SIZE ((size_t)256 * 1024)

_Thread_local struct worker *worker_self;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker slots[SLOTS];
static atomic_uint slots_used;		/* none beyond this was ever in use */
static unsigned int nr_wanted;
static unsigned int nr_serving;		/* that are not written off */
static atomic_uint nr_stuck;

static void *worker_main(void *arg);

static struct worker *get_slot(void)
{
	for (unsigned int i = 0; i < SLOTS; i++) {
		if (slots[i].in_use)
			continue;
		if (i >= atomic_load(&slots_used))
			atomic_store(&slots_used, i + 1);
		slots[i].in_use = true;
		slots[i].seen = 0;
		atomic_store(&slots[i].progress, 0);
		atomic_store(&slots[i].stuck, false);
		return &slots[i];
	}
	return NULL;
}

/* What is moved replaces what was there: @to has nothing of its own. */
static void move_lists(struct worker *to, struct worker *from)
{
	host_lock_take(&from->lock);
	to->woken_first = from->woken_first;
	to->woken_end = from->woken_end;
	to->polled_first = from->polled_first;
	to->unanswered = from->unanswered;
	to->result = from->result;
	from->woken_first = NULL;
	from->polled_first = NULL;
	from->unanswered = NULL;
	host_lock_drop(&from->lock);
}

/* Starts a thread; it serves requests, or else works the lists of @from off. Pool lock held. */
static bool start_one(bool serves, struct worker *from)
{
	struct worker *worker = get_slot();
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	if (!worker)
		return false;
	worker->serves = serves;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (from)
		move_lists(worker, from);
	error = pthread_create(&thread, &attributes, worker_main, worker);
	pthread_attr_destroy(&attributes);
	if (!error)
		return true;
	if (from)
		move_lists(from, worker);
	worker->in_use = false;
	return false;
}

bool worker_start(unsigned int count)
{
	bool ok = true;

	pthread_mutex_lock(&pool_lock);
	nr_wanted = count;
	while (ok && nr_serving < nr_wanted) {
		ok = start_one(true, NULL);
		nr_serving += ok;
	}
	pthread_mutex_unlock(&pool_lock);
	return ok;
}

void worker_enlist(struct worker *worker)
{
	worker_self = worker;
}

static bool has_work_for_others(const struct worker *worker)
{
	return worker->woken_first || worker->polled_first || worker->unanswered;
}

void worker_hand_over(struct worker *worker)
{
	bool ok = true;

	pthread_mutex_lock(&pool_lock);
	if (has_work_for_others(worker))
		ok = start_one(false, worker);
	pthread_mutex_unlock(&pool_lock);
	if (!ok)
		log_error("cannot start a thread; some clients will wait");
}

void worker_put_off_answer(struct host_thread *thread, int result)
{
	struct worker *self = worker_self;

	host_lock_take(&self->lock);
	self->unanswered = thread;
	self->result = result;
	host_lock_drop(&self->lock);
}

bool worker_take_answer(void)
{
	struct worker *self = worker_self;
	bool ours;

	host_lock_take(&self->lock);
	ours = self->unanswered;
	self->unanswered = NULL;
	host_lock_drop(&self->lock);
	return ours;
}

bool worker_tell_interrupted(u64 unique)
{
	unsigned int count = atomic_load(&slots_used);

	for (unsigned int i = 0; i < count; i++) {
		if (atomic_load(&slots[i].unique) == unique) {
			atomic_store(&slots[i].interrupted, unique);
			return true;
		}
	}
	return false;
}

bool worker_was_interrupted(u64 unique)
{
	return atomic_load(&worker_self->interrupted) == unique;
}

void worker_begin_step(const struct host_thread *thread)
{
	struct worker *self = worker_self;

	atomic_store_explicit(&self->unique, thread->unique, memory_order_relaxed);
	atomic_store_explicit(&self->client_tid, thread->tid, memory_order_relaxed);
	atomic_store_explicit(&self->nodeid, thread->proc->nodeid, memory_order_relaxed);
	atomic_store_explicit(&self->progress,
			      atomic_load_explicit(&self->progress, memory_order_relaxed) + 2,
			      memory_order_release);
}

/*
 * Only this worker writes these, so nothing here needs a locked instruction. Who looks for a
 * request that is not to be seen yet lets the kernel send its INTERRUPT again.
 */
static void step(struct worker *self)
{
	atomic_store_explicit(&self->progress,
			      atomic_load_explicit(&self->progress, memory_order_relaxed) + 1,
			      memory_order_release);
}

static void begin_work(struct worker *self, u64 unique)
{
	atomic_store_explicit(&self->unique, unique, memory_order_release);
	atomic_store_explicit(&self->nodeid, 0, memory_order_relaxed);
	step(self);
	watch_arm_check();
}

static void end_work(struct worker *self)
{
	atomic_store_explicit(&self->unique, 0, memory_order_release);
	step(self);
}

/* Leaves the pool; if it was written off, its client may have requests served again. */
static void leave(struct worker *self)
{
	pthread_mutex_lock(&pool_lock);
	if (atomic_load(&self->stuck)) {
		nr_stuck--;
		device_unstick(self->stuck_file);
	} else if (self->serves) {
		nr_serving--;
	}
	self->in_use = false;
	pthread_mutex_unlock(&pool_lock);
}

/*
 * The C library has the kernel keep each thread's CPU number in the thread's memory, for
 * sched_getcpu(3), which nobody here asks. The kernel writes it after every context switch, and a
 * request costs two: have it left alone. (A library that registered another size keeps it.)
 */
static void drop_rseq(void)
{
	if (__rseq_size)
		syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset,
			sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}

static void *worker_main(void *arg)
{
	struct worker *self = arg;
	struct request request;
	void *buffer = NULL;

	drop_rseq();
	worker_self = self;
	self->tid = gettid();
	if (!self->serves) {
		begin_work(self, 0);
		if (self->unanswered) {
			struct host_thread *thread = self->unanswered;

			self->unanswered = NULL;
			device_answer(thread, self->result);
		}
		device_finish_woken();
		end_work(self);
	} else {
		/* a request then lies in one page, which the kernel has to look up */
		buffer = aligned_alloc(4096, SESSION_BUFFER_SIZE);
		while (buffer && !atomic_load(&self->stuck)) {
			if (!session_read(&request, buffer)) {
				kill(getpid(), SIGTERM);	/* unmounted by somebody else */
				break;
			}
			begin_work(self, request.head->unique);
			dispatch(&request);
			device_finish_woken();
			end_work(self);
		}
		free(buffer);
	}
	leave(self);
	return NULL;
}

/* A worker that merely gets no processor time is not stuck: ask the kernel what it waits in. */
static bool waits_for_memory(const struct worker *worker)
{
	char path[64];
	char text[128];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", worker->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	/* "running" reads as 0, which is read(2) */
	return atoi(text) == SYS_process_vm_readv || atoi(text) == SYS_process_vm_writev;
}

static void write_off(struct worker *worker)
{
	if (!waits_for_memory(worker))
		return;
	worker->abandoned = false;
	worker->stuck_file = device_stick(atomic_load(&worker->nodeid));
	if (!worker->stuck_file)
		return;
	nr_stuck++;
	if (worker->serves)
		nr_serving--;
	atomic_store(&worker->stuck, true);
	log_info("a client holds a worker up by its memory; %u stuck", nr_stuck);
	if (has_work_for_others(worker))
		start_one(false, worker);
}

/*
 * A client that is being killed waits for its answer, and what the worker waits for may be part of
 * that very client: answer, so that it can go. When the worker comes back its own answer finds
 * nobody.
 */
static void let_go_of_dying(struct worker *worker)
{
	u64 unique = atomic_load(&worker->unique);

	if (worker->abandoned || !caller_is_dying(atomic_load(&worker->client_tid)))
		return;
	worker->abandoned = true;
	session_reply_ioctl(unique, -EINTR, NULL, 0);
}

bool worker_any_stuck(void)
{
	return atomic_load_explicit(&nr_stuck, memory_order_relaxed);
}

bool worker_check(void)
{
	unsigned int count = atomic_load(&slots_used);
	bool busy = false;

	pthread_mutex_lock(&pool_lock);
	for (unsigned int i = 0; i < count; i++) {
		struct worker *worker = &slots[i];
		unsigned int progress = atomic_load(&worker->progress);

		if (!worker->in_use)
			continue;
		if (atomic_load(&worker->stuck)) {
			let_go_of_dying(worker);
			busy = true;
			continue;
		}
		busy |= progress != worker->seen || (progress & 1);
		if ((progress & 1) && progress == worker->seen && nr_stuck < SPARES)
			write_off(worker);
		worker->seen = progress;
	}
	while (nr_serving < nr_wanted && start_one(true, NULL))
		nr_serving++;
	pthread_mutex_unlock(&pool_lock);
	return busy;
}
