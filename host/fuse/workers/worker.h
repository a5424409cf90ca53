/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of each thread that calls the engine: what it is doing, and the work that it has queued
 * for itself.
 *
 * Such a thread is a worker of the pool (worker_pool.h), the watcher, or that of the helper's
 * events. It finds its state in worker_self. Other threads look at the first part for an INTERRUPT
 * and to detect a stuck worker, and may take over the queued work.
 */
#ifndef HOST_FUSE_WORKER_H
#define HOST_FUSE_WORKER_H

#include "host_types.h"

/*
 * The largest number of workers: 64 that serve requests, one for the slow lane, 64 that are stuck,
 * 16 that were replaced before they counted as stuck, and for each of these a thread that took over
 * its work.
 */
#define WORKERS_SERVING_MAX 64u
#define WORKERS_STUCK_MAX 64u
#define WORKERS_EARLY_MAX 16u
#define WORKERS_MAX (WORKERS_SERVING_MAX + 1 + 2 * (WORKERS_STUCK_MAX + WORKERS_EARLY_MAX))

struct gate_member;
struct open_file;

struct worker {
	/* Written by the worker itself, except for @interrupted and @aborted. */
	_Atomic u64 unique;		/* the request that it handles; 0: none */
	atomic_bool is_call;		/* it is an ioctl, of @client_tid */
	atomic_int client_tid;		/* thread that made the last call */
	atomic_uint stamp;		/* the period in which the request began (expire.h) */
	_Atomic u64 interrupted;	/* request for which an INTERRUPT came */
	_Atomic u64 aborted;		/* request to which another thread has replied */
	atomic_uint progress;		/* odd: busy; changes with every step */
	_Atomic u64 open_id;		/* open whose client's memory may be in use; 0: none */
	atomic_bool waiting;		/* between worker_begin_wait() and worker_end_wait() */
	atomic_uint core;		/* on which it runs (affinity.h), plus 1; 0: not known */

	/* Guarded by the lock of the pool (worker_pool.h), save for atomic reads. */
	atomic_bool stuck;		/* it was replaced */
	bool in_use;
	bool serves;			/* handles requests; false: only finishes queued work */
	bool slow;			/* serves the slow lane (backlog.h) */
	unsigned int seen;		/* progress at the last check */
	u64 used_ns;			/* processor time at the last one that found it busy */
	int tid;
	struct gate_member *member;	/* of its thread; NULL: it has not begun */
	struct open_file *stuck_file;	/* the open charged for it; NULL: none yet */

	/* Guards the rest, work that can be taken over, save for atomic reads. */
	struct host_spinlock lock;
	_Atomic(struct host_thread *) woken_first;
	struct host_thread *woken_last;		/* if there is a first */
	_Atomic(struct host_proc *) polled_first;
	_Atomic(struct work *) works_first;
	struct work *works_last;		/* if there is a first */
	_Atomic(struct host_thread *) deferred;	/* its call is complete, the reply deferred */
	int deferred_result;
	atomic_bool awake;		/* other threads may queue: it looks before it sleeps */
};

/* The running thread's; never NULL in a thread that calls the engine. */
extern _Thread_local struct worker *worker_self;

/* The core on which @worker runs, plus 1. */
static inline void worker_set_core(struct worker *worker, u32 core)
{
	atomic_store_explicit(&worker->core, core, memory_order_relaxed);
}

static inline u32 worker_core(const struct worker *worker)
{
	return atomic_load_explicit(&worker->core, memory_order_relaxed);
}

/* For a thread outside the pool: makes @worker its own. */
void worker_set_self(struct worker *worker);

/* ---- what it is doing ---- */

/* The running worker begins to handle request @unique; 0: it only finishes queued work. */
void worker_begin_request(u64 unique);
void worker_end_request(void);
/* The request that it works on from now on. */
void worker_set_request(u64 unique);

/* Work on the call of @thread begins: from now on a stall is due to the memory of its process. */
void worker_begin_step(const struct host_thread *thread);

/*
 * Is a worker handling the request @unique? If so, notes that it was interrupted. Called, as the
 * next one, with the lock of the request's bucket held (park.c).
 */
bool worker_set_interrupted(u64 unique);

/* Was an INTERRUPT noted for the running worker and the request @unique? */
bool worker_was_interrupted(u64 unique);

/*
 * Did another thread reply to the request @unique of the running worker? Once its caller has
 * exited, its number may be that of another thread.
 */
static inline bool worker_was_aborted(u64 unique)
{
	return atomic_load_explicit(&worker_self->aborted, memory_order_relaxed) == unique;
}

/*
 * The running worker begins to wait for an answer that the client of the open @open_id can delay:
 * it is replaced as if it were stuck in that client's memory. Returns what worker_end_wait() needs.
 */
u64 worker_begin_wait(u64 open_id);
void worker_end_wait(u64 before);

/* ---- the work that it has queued for itself ---- */

/* Queues @thread, whose call is to be resumed, at the running worker. */
void worker_push_woken(struct host_thread *thread);

/* Queues @thread at @to. False: @to is not at work, and would not find it. */
bool worker_give(struct worker *to, struct host_thread *thread);
/* The running worker is about to wait for a request. False: something was queued for it. */
bool worker_begin_sleep(void);
void worker_end_sleep(void);
/* @worker will not look at its queue any more: nothing is queued there by others from now on. */
void worker_refuse(struct worker *worker);
bool worker_has_woken(void);
/* Takes the thread that was queued first at the running worker; NULL: none. */
struct host_thread *worker_pop_woken(void);

/* The kernel wants one notification about the polled file of @proc, which it names @handle. */
void worker_arm_poll(struct host_proc *proc, u64 handle);
/* Queues that notification (FUSE_NOTIFY_POLL). Any lock of the engine may be held. */
void worker_queue_poll(struct host_proc *proc);
/* Sends the notifications that are queued. No lock held. */
void worker_notify_polled(void);

/*
 * The call of @thread is complete with @result, but the running worker replies only after something
 * more urgent. If it gets stuck in that, another thread sends the reply.
 */
void worker_defer_reply(struct host_thread *thread, int result);
/* Ends the deferral. False: another thread has taken over the reply. */
bool worker_take_deferred(void);

/*
 * Queues @work at the running worker, which does it after the reply to its request: destroying
 * what that request was the last to use.
 */
void worker_add_work(struct work *work);
/* Does the oldest work that is queued at the running worker. False: there is none. */
bool worker_run_work(void);

/* Is a thread, a reply or other work queued at @worker? A racy read. */
bool worker_has_work_racy(const struct worker *worker);
/* Moves all that is queued at @from to @to, which has nothing. */
void worker_move_work(struct worker *to, struct worker *from);

/* ---- the table of workers; but for the first, the lock of the pool is held ---- */

void worker_table_init(void);

/* A worker that was not in use; NULL: all are. */
struct worker *worker_alloc(void);
/* The worker number @index, in use or not; NULL beyond the last that was ever in use. */
struct worker *worker_at(unsigned int index);

#endif
