// SPDX-License-Identifier: GPL-2.0
/*
 * Parked requests.
 *
 * The state word of a thread decides every race by compare-and-exchange: a wake-up before the call
 * is parked changes RUNNING to WOKEN, so that parking fails; of several threads that try to claim a
 * parked call, one succeeds. The table of requests, hashed by the kernel's request number, is only
 * needed to find one by that number (INTERRUPT), by its deadline, or by its process.
 *
 * An INTERRUPT can overtake its request: a worker may read it while the worker with the request is
 * still on its way into the engine. Each worker therefore publishes the request that it handles
 * (worker.h), and the lock of the bucket orders the search for a parked request against parking it.
 */
#include "calls/park.h"

#include "base/daemon_state.h"
#include "calls/affinity.h"
#include "core.h"
#include "session/expire.h"
#include "workers/worker.h"

#define BUCKETS 1024u

struct bucket {
	struct host_spinlock lock;
	struct host_thread *first;
};

struct parked_calls {
	struct bucket buckets[BUCKETS];
};

void park_init(void)
{
	daemon_part(parked_calls);
}

/* The kernel numbers requests in steps of two: the lowest bit is that of an INTERRUPT. */
static struct bucket *bucket_of(u64 unique)
{
	return &daemon_self->parked_calls->buckets[(unique >> 1) % BUCKETS];
}

bool park_begin(struct host_thread *thread)
{
	unsigned int expected = PARK_IDLE;

	if (!atomic_compare_exchange_strong(&thread->park.state, &expected, PARK_RUNNING))
		return false;
	thread->park.interrupted = false;
	thread->park.deadline_ns = 0;
	return true;
}

static void park_link(struct bucket *bucket, struct host_thread *thread)
{
	thread->park.next = bucket->first;
	thread->park.slot = &bucket->first;
	if (bucket->first)
		bucket->first->park.slot = &thread->park.next;
	bucket->first = thread;
}

static void park_insert(struct bucket *bucket, struct host_thread *thread)
{
	park_link(bucket, thread);
	if (worker_was_interrupted(thread->request.unique))
		thread->park.interrupted = true;
}

void park_register(struct host_thread *thread)
{
	struct bucket *bucket = bucket_of(thread->request.unique);

	guard_spin(&bucket->lock);
	if (!thread->park.slot)
		park_insert(bucket, thread);
}

enum park_result park_wait(struct host_thread *thread)
{
	struct bucket *bucket = bucket_of(thread->request.unique);
	enum park_result result = PARK_DONE;
	unsigned int expected = PARK_RUNNING;

	guard_spin(&bucket->lock);
	if (!thread->park.slot)
		park_insert(bucket, thread);
	if (atomic_load(&thread->proc->ended)) {
		result = PARK_REFUSED;
	} else if (thread->park.interrupted) {
		thread->park.interrupted = false;
		result = PARK_INTERRUPTED;
	} else if (!atomic_compare_exchange_strong(&thread->park.state, &expected, PARK_PARKED)) {
		atomic_store(&thread->park.state, PARK_RUNNING);
		result = PARK_GO_ON;
	}
	return result;
}

bool park_is_interrupted(struct host_thread *thread)
{
	struct bucket *bucket = bucket_of(thread->request.unique);
	guard_spin(&bucket->lock);
	bool interrupted = thread->park.interrupted;

	return interrupted;
}

void park_end(struct host_thread *thread)
{
	if (thread->park.slot) {
		struct bucket *bucket = bucket_of(thread->request.unique);

		host_spin_lock(&bucket->lock);
		*thread->park.slot = thread->park.next;
		if (thread->park.next)
			thread->park.next->park.slot = thread->park.slot;
		thread->park.slot = NULL;
		host_spin_unlock(&bucket->lock);
	}
	atomic_store_explicit(&thread->park.state, PARK_IDLE, memory_order_release);
}

/* Makes the running thread the owner of a parked call. False: it is not parked. */
static bool park_claim(struct host_thread *thread)
{
	unsigned int expected = PARK_PARKED;

	return atomic_compare_exchange_strong(&thread->park.state, &expected, PARK_RUNNING);
}

void park_wake(struct host_thread *thread)
{
	unsigned int state = atomic_load(&thread->park.state);

	for (;;) {
		unsigned int next = state == PARK_PARKED ? PARK_RUNNING : PARK_WOKEN;

		if (state != PARK_PARKED && state != PARK_RUNNING)
			return;
		if (atomic_compare_exchange_weak(&thread->park.state, &state, next))
			break;
	}
	if (state == PARK_PARKED && !affinity_woken(thread))
		worker_push_woken(thread);
}

struct host_thread *park_interrupt(u64 unique, bool *known)
{
	struct bucket *bucket = bucket_of(unique);
	guard_spin(&bucket->lock);
	struct host_thread *thread = bucket->first;

	while (thread && thread->request.unique != unique)
		thread = thread->park.next;
	*known = thread || worker_set_interrupted(unique);
	if (thread && !park_claim(thread)) {
		thread->park.interrupted = true;
		thread = NULL;
	}
	return thread;
}

static bool is_expired(const struct host_thread *thread, const void *now_ns)
{
	return thread->park.deadline_ns && thread->park.deadline_ns <= *(const u64 *)now_ns;
}

static bool is_of(const struct host_thread *thread, const void *proc)
{
	return thread->proc == proc;
}

static bool is_overdue(const struct host_thread *thread, const void *unused)
{
	(void)unused;
	return expire_is_due(thread->request.stamp);
}

static struct host_thread *claim_if(bool (*wanted)(const struct host_thread *, const void *),
				    const void *arg)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		struct host_thread *thread;

		host_spin_lock(&daemon_self->parked_calls->buckets[i].lock);
		thread = daemon_self->parked_calls->buckets[i].first;
		while (thread && !(wanted(thread, arg) && park_claim(thread)))
			thread = thread->park.next;
		host_spin_unlock(&daemon_self->parked_calls->buckets[i].lock);
		if (thread)
			return thread;
	}
	return NULL;
}

struct host_thread *park_claim_expired(u64 now_ns)
{
	return claim_if(is_expired, &now_ns);
}

struct host_thread *park_claim_overdue(void)
{
	return claim_if(is_overdue, NULL);
}

struct host_thread *park_claim_of(const struct host_proc *proc)
{
	return claim_if(is_of, proc);
}

void park_visit(void (*visit)(struct host_thread *thread, void *arg), void *arg)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		struct host_thread *thread = daemon_self->parked_calls->buckets[i].first;

		for (; thread; thread = thread->park.next)
			visit(thread, arg);
	}
}

void park_restore(struct host_thread *thread, bool parked)
{
	struct bucket *bucket = bucket_of(thread->request.unique);

	guard_spin(&bucket->lock);
	atomic_store(&thread->park.state, parked ? PARK_PARKED : PARK_RUNNING);
	park_link(bucket, thread);
}
