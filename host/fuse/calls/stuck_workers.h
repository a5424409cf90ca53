/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workers that wait in a client's memory: noticed, charged to the client's user, and replaced. A
 * stuck worker exits when its copy ends.
 */
#ifndef HOST_FUSE_STUCK_WORKERS_H
#define HOST_FUSE_STUCK_WORKERS_H

#include "host_types.h"

struct worker;

/* The interval of pool_check(). */
#define STUCK_CHECK_MS 20

/*
 * Replaces workers that are still in the step of the last check. To be called at intervals while
 * workers are busy. Returns false if none is: checking can stop until watch_arm_check().
 */
bool pool_check(void);

/* Is any worker stuck? Cheap. */
bool pool_has_stuck(void);

/*
 * Replaces the running worker, which has waited for an answer for longer than usual
 * (worker_begin_wait()), without waiting for pool_check() to find it: several calls of this kind
 * one after the other would keep all workers from the others' requests for as many checks. It
 * counts as stuck when pool_check() finds it.
 */
void pool_replace_self(void);

/* The thread of @self, a worker of the pool, ends; if it was stuck, its client can be served again.
 */
void pool_leave(struct worker *self);

/*
 * For gate_close(): are the queues of all workers empty? @late: replaces workers that are delayed
 * by a client, and has their work done.
 */
bool pool_settle(bool late);

/* After pool_settle(): calls @visit for each worker that is frozen in a request. */
void pool_visit_frozen(void (*visit)(const struct worker *worker, void *arg), void *arg);

/* After the gate was opened: has backlog and slow lane served. */
void pool_reopen(void);

#endif
