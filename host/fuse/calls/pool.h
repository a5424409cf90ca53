/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool of threads that serve requests.
 *
 * By default there is one for each core, and none waits for a client on purpose. A client can still
 * block one by passing addresses whose page faults another process has to resolve (userfaultfd, its
 * own file system): the copy then takes as long as that process likes, and no signal ends it. A
 * worker that is stuck in this way is therefore replaced by another one, and a third finishes the
 * work that it had queued for other clients. The stuck worker exits when its copy ends.
 */
#ifndef HOST_FUSE_POOL_H
#define HOST_FUSE_POOL_H

#include "host_types.h"

struct request;
struct worker;

/* What a worker does. */
struct pool_handlers {
	void (*serve)(const struct request *request);
	void (*finish_woken)(void);	/* finishes the work queued at the running worker */
	void (*continue_one)(void);	/* serves one of the backlog, if there is one */
	void (*serve_slow)(void);	/* the same for the slow lane */
};

/* Before any other thread starts: each may have work for the pool. */
void pool_init(const struct pool_handlers *handlers);

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

/*
 * Replaces workers that are still in the step of the last check. To be called at intervals while
 * workers are busy. Returns false if none is: checking can stop until watch_arm_check().
 */
bool pool_check(void);

/*
 * Replaces the running worker, which has waited for an answer for longer than usual
 * (worker_begin_wait()), without waiting for pool_check() to find it: several calls of this kind
 * one after the other would keep all workers from the others' requests for as many checks. It
 * counts as stuck when pool_check() finds it.
 */
void pool_replace_self(void);

/* Has a thread serve the slow lane, if none does. Called when a call was put there. */
void pool_serve_slow(void);

/*
 * For gate_close(): are the queues of all workers empty? @late: replaces workers that are delayed
 * by a client, and has their work done.
 */
bool pool_settle(bool late);

/* After pool_settle(): calls @visit for each worker that is frozen in a request. */
void pool_visit_frozen(void (*visit)(const struct worker *worker, void *arg), void *arg);

/* After the gate was opened: has backlog and slow lane served. */
void pool_reopen(void);

/* Is any worker stuck? Cheap. */
bool pool_has_stuck(void);

#endif
