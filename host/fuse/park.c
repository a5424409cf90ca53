// SPDX-License-Identifier: GPL-2.0
/*
 * Parked requests.
 *
 * The state word of a thread decides every race by compare-and-exchange: a wake-up that comes
 * before the call is parked turns RUNNING into WOKEN, and parking then fails; two parties who want
 * the same parked call see one succeed. The table of parked requests, hashed by the kernel's
 * request number, is only there to find one by that number (a signal), by its deadline, or by its
 * process.
 *
 * An INTERRUPT can overtake its request: another worker may read it while the first one is still
 * on its way into the engine. Each worker therefore publishes what it is working on (worker.h), and
 * the bucket's lock orders "look whether it is parked" against "park it".
 */
#include "park.h"

#include "core.h"
#include "session.h"
#include "worker.h"

#define BUCKETS 1024u

struct bucket {
	struct host_lock_word lock;
	struct host_thread *first;
};

static struct bucket buckets[BUCKETS];

/* The kernel counts requests up by two: the lowest bit marks interrupts. */
static struct bucket *bucket_of(u64 unique)
{
	return &buckets[(unique >> 1) % BUCKETS];
}

bool park_begin(struct host_thread *thread)
{
	unsigned int expected = PARK_IDLE;

	if (!atomic_compare_exchange_strong(&thread->state, &expected, PARK_RUNNING))
		return false;
	thread->interrupted = false;
	thread->deadline_ns = 0;
	return true;
}

static void insert(struct bucket *bucket, struct host_thread *thread)
{
	thread->next_parked = bucket->first;
	thread->parked_slot = &bucket->first;
	if (bucket->first)
		bucket->first->parked_slot = &thread->next_parked;
	bucket->first = thread;
}

void park_keep(struct host_thread *thread)
{
	struct bucket *bucket = bucket_of(thread->unique);

	host_lock_take(&bucket->lock);
	if (!thread->parked_slot)
		insert(bucket, thread);
	host_lock_drop(&bucket->lock);
}

enum park_result park_wait(struct host_thread *thread)
{
	struct bucket *bucket = bucket_of(thread->unique);
	enum park_result result = PARK_DONE;
	unsigned int expected = PARK_RUNNING;

	host_lock_take(&bucket->lock);
	if (!thread->parked_slot) {
		insert(bucket, thread);
		if (worker_was_interrupted(thread->unique))
			thread->interrupted = true;
	}
	if (atomic_load(&thread->proc->ended)) {
		result = PARK_REFUSED;
	} else if (thread->interrupted) {
		thread->interrupted = false;
		result = PARK_INTERRUPTED;
	} else if (!atomic_compare_exchange_strong(&thread->state, &expected, PARK_PARKED)) {
		atomic_store(&thread->state, PARK_RUNNING);
		result = PARK_GO_ON;
	}
	host_lock_drop(&bucket->lock);
	return result;
}

void park_end(struct host_thread *thread)
{
	if (thread->parked_slot) {
		struct bucket *bucket = bucket_of(thread->unique);

		host_lock_take(&bucket->lock);
		*thread->parked_slot = thread->next_parked;
		if (thread->next_parked)
			thread->next_parked->parked_slot = thread->parked_slot;
		thread->parked_slot = NULL;
		host_lock_drop(&bucket->lock);
	}
	atomic_store_explicit(&thread->state, PARK_IDLE, memory_order_release);
}

/* Whoever succeeds here owns the call. */
static bool claim(struct host_thread *thread)
{
	unsigned int expected = PARK_PARKED;

	return atomic_compare_exchange_strong(&thread->state, &expected, PARK_RUNNING);
}

void park_wake(struct host_thread *thread)
{
	unsigned int state = atomic_load(&thread->state);

	for (;;) {
		unsigned int next = state == PARK_PARKED ? PARK_RUNNING : PARK_WOKEN;

		if (state != PARK_PARKED && state != PARK_RUNNING)
			return;
		if (atomic_compare_exchange_weak(&thread->state, &state, next))
			break;
	}
	if (state == PARK_PARKED)
		park_push_woken(thread);
}

void park_push_woken(struct host_thread *thread)
{
	struct worker *self = worker_self;

	thread->next_woken = NULL;
	host_lock_take(&self->lock);
	if (!self->woken_first)
		self->woken_end = &self->woken_first;
	*self->woken_end = thread;
	self->woken_end = &thread->next_woken;
	host_lock_drop(&self->lock);
}

/* Only others take away from the list, only we add. */
bool park_has_woken(void)
{
	return worker_self->woken_first;
}

struct host_thread *park_next_woken(void)
{
	struct worker *self = worker_self;
	struct host_thread *thread;

	if (!park_has_woken())
		return NULL;
	host_lock_take(&self->lock);
	thread = self->woken_first;
	if (thread)
		self->woken_first = thread->next_woken;
	host_lock_drop(&self->lock);
	return thread;
}

void park_wake_poll(struct host_proc *proc)
{
	struct worker *self = worker_self;

	/* a notice that is still to be sent will do for this wake-up too */
	if (atomic_exchange(&proc->poll_queued, true))
		return;
	atomic_store(&proc->poll_armed, false);
	binder_proc_get(binder_proc_of_host(proc));
	host_lock_take(&self->lock);
	proc->next_polled = self->polled_first;
	self->polled_first = proc;
	host_lock_drop(&self->lock);
}

void park_notify_polled(void)
{
	struct worker *self = worker_self;
	struct host_proc *proc;

	if (!self->polled_first)
		return;
	host_lock_take(&self->lock);
	proc = self->polled_first;
	self->polled_first = NULL;
	host_lock_drop(&self->lock);
	while (proc) {
		struct host_proc *next = proc->next_polled;

		atomic_store(&proc->poll_queued, false);
		session_notify_poll(atomic_load(&proc->poll_handle));
		binder_proc_put(binder_proc_of_host(proc));
		proc = next;
	}
}

struct host_thread *park_interrupt(u64 unique, bool *known)
{
	struct bucket *bucket = bucket_of(unique);
	struct host_thread *thread;

	host_lock_take(&bucket->lock);
	thread = bucket->first;
	while (thread && thread->unique != unique)
		thread = thread->next_parked;
	*known = thread || worker_tell_interrupted(unique);
	if (thread && !claim(thread)) {
		thread->interrupted = true;
		thread = NULL;
	}
	host_lock_drop(&bucket->lock);
	return thread;
}

static bool is_expired(const struct host_thread *thread, const void *now_ns)
{
	return thread->deadline_ns && thread->deadline_ns <= *(const u64 *)now_ns;
}

static bool is_of(const struct host_thread *thread, const void *proc)
{
	return thread->proc == proc;
}

static struct host_thread *find(bool (*wanted)(const struct host_thread *, const void *),
				const void *arg)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		struct host_thread *thread;

		host_lock_take(&buckets[i].lock);
		thread = buckets[i].first;
		while (thread && !(wanted(thread, arg) && claim(thread)))
			thread = thread->next_parked;
		host_lock_drop(&buckets[i].lock);
		if (thread)
			return thread;
	}
	return NULL;
}

struct host_thread *park_next_expired(u64 now_ns)
{
	return find(is_expired, &now_ns);
}

struct host_thread *park_next_of(const struct host_proc *proc)
{
	return find(is_of, proc);
}
