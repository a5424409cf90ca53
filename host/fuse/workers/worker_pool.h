/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool of threads that serve requests.
 *
 * By default there is one for each core, and none waits for a client on purpose. A client can still
 * block one by passing addresses whose page faults another process has to resolve (userfaultfd, its
 * own file system): the copy then takes as long as that process likes, and no signal ends it. So a
 * worker that is stuck in this way is replaced by another one (stuck_workers.h), and a third
 * finishes the work that it had queued for other clients.
 */
#ifndef HOST_FUSE_WORKER_POOL_H
#define HOST_FUSE_WORKER_POOL_H

#include "workers/worker.h"

/* Changes only when a worker gets stuck or free again. */
struct worker_pool {
	void (*body)(struct worker *self); /* of each thread: worker_main() */
	atomic_uint nr_stuck;
	pthread_mutex_t lock;		/* guards the rest, and changes of @nr_stuck */
	unsigned int nr_wanted;
	unsigned int nr_serving;	/* not counting stuck ones */
	unsigned int nr_early;		/* replaced before they count as stuck */
	bool slow_is_served;
};

/* Before any other thread starts: each may have work for the pool. @body: of its threads. */
void pool_init(void (*body)(struct worker *self));

/*
 * Starts @count workers, which serve until the file system is unmounted. False: no memory or too
 * many threads.
 */
bool pool_start(unsigned int count);

/*
 * Starts a thread that finishes the work queued at @worker, if any: for threads that a client's
 * memory must not block.
 */
void pool_hand_over(struct worker *worker);

/* Has a thread serve the slow lane, if none does. Called when a call was put there. */
void pool_serve_slow(void);

/*
 * The running worker is about to use a client's memory. In the slow lane that may take long, so
 * others do what is queued.
 */
void pool_begin_memory(void);

/* ---- a thread for work that takes long and that no client waits for ---- */

void workqueue_init(void);

/*
 * Has @work->run() called, after that of the works that came before; it may call the engine. False:
 * there is no thread for it, the caller has to do it.
 */
bool workqueue_add(struct work *work);

/* ---- for stuck_workers.c; the lock is held ---- */

enum worker_kind { SERVES, SERVES_SLOW, FINISHES };

/* Starts a thread; one that @FINISHES takes over the work of @from, unless that is NULL. */
bool pool_start_worker(enum worker_kind kind, struct worker *from);
/* Starts the workers that are missing. False: no memory or too many threads. */
bool pool_start_serving(void);
void pool_start_slow(void);

#endif
