// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that are completed on the core of their thread.
 *
 * Each worker enters itself for the core on which it finds itself after it has read a request. The
 * kernel does not say on which core a request was made, but a thread rarely moves, so it is enough
 * to look from time to time. Neither needs to be right: the call is completed all the same.
 */
#include "calls/affinity.h"

#include "base/daemon_state.h"
#include "clients/client_thread.h"
#include "workers/worker.h"

#include <sched.h>
#include <unistd.h>

/* Calls are not steered to cores beyond. */
#define CORES_MAX 256u

/* A thread's core is looked up at its call number FIRST, and then once in INTERVAL calls. */
#define INTERVAL 128u
#define FIRST 8u

struct affinity {
	_Atomic(struct worker *) on_core[CORES_MAX];
	bool is_on;
};

void affinity_init(unsigned int nr_workers)
{
	struct affinity *affinity = daemon_part(affinity);

	affinity->is_on = nr_workers > 1 && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

void affinity_note_worker(void)
{
	struct affinity *affinity = daemon_self->affinity;
	unsigned int core;

	if (!affinity->is_on)
		return;
	core = (unsigned int)sched_getcpu();
	if (core >= CORES_MAX)
		return;
	worker_set_core(worker_self, core + 1);
	if (atomic_load_explicit(&affinity->on_core[core], memory_order_relaxed) != worker_self)
		atomic_store_explicit(&affinity->on_core[core], worker_self, memory_order_release);
}

void affinity_note_caller(struct host_thread *thread)
{
	if (daemon_self->affinity->is_on && thread->affinity.nr_calls++ % INTERVAL == FIRST)
		thread->affinity.core = client_thread_core(thread->tid);
}

/* The worker on the core of @thread; NULL: none that is known, or the running one. */
static struct worker *worker_near(const struct host_thread *thread)
{
	struct affinity *affinity = daemon_self->affinity;
	struct worker *worker;

	if (!thread->affinity.core || thread->affinity.core > CORES_MAX ||
	    thread->affinity.core == worker_core(worker_self))
		return NULL;
	worker = atomic_load_explicit(&affinity->on_core[thread->affinity.core - 1],
				      memory_order_acquire);
	return worker && worker_core(worker) == thread->affinity.core ? worker : NULL;
}

bool affinity_woken(struct host_thread *thread)
{
	struct worker *worker = worker_near(thread);

	return worker && worker_give(worker, thread);
}

bool affinity_reply(struct host_thread *thread, int result)
{
	struct worker *worker = worker_near(thread);

	if (!worker)
		return false;
	thread->woken.is_complete = true;
	thread->woken.result = result;
	if (worker_give(worker, thread))
		return true;
	thread->woken.is_complete = false;
	return false;
}
