/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parked requests: calls that wait without a thread of the daemon.
 *
 * A call is RUNNING while a thread of the daemon owns it, and PARKED while it waits for work.
 * Exactly one thread claims a parked call, which makes it RUNNING again, and completes it: the
 * worker that queued work for it, the one that read its INTERRUPT, or the watcher when its deadline
 * has passed.
 */
#ifndef HOST_FUSE_PARK_H
#define HOST_FUSE_PARK_H

#include "host_types.h"

enum park_state {
	PARK_IDLE,	/* no call */
	PARK_RUNNING,	/* owned by a thread of the daemon */
	PARK_WOKEN,	/* the same, and work was queued meanwhile: it cannot be parked */
	PARK_PARKED,
};

enum park_result {
	PARK_DONE,		/* parked: @thread must not be used any more */
	PARK_GO_ON,		/* to be resumed: work was queued */
	PARK_INTERRUPTED,	/* to be resumed as interrupted */
	PARK_REFUSED,		/* to be completed: its open has ended */
};

void park_init(void);

/* A call of @thread begins. False: it has one already. */
bool park_begin(struct host_thread *thread);

/* Parks the call, which the engine would block. */
enum park_result park_wait(struct host_thread *thread);

/*
 * Makes an INTERRUPT for the call known to park_interrupt() although it is not parked: its owner
 * will complete it later.
 */
void park_register(struct host_thread *thread);

/* Did an INTERRUPT come for the call, which is registered? It stays noted for park_wait(). */
bool park_is_interrupted(struct host_thread *thread);

/* The call ends. Precedes the reply, after which the thread may call again. */
void park_end(struct host_thread *thread);

/*
 * Work was queued for @thread: if its call is parked, claims it and queues it at the running
 * worker. Any lock of the engine may be held.
 */
void park_wake(struct host_thread *thread);

/*
 * An INTERRUPT came for the request @unique. Claims the call if it is parked: the caller resumes it
 * as interrupted. Else returns NULL; @known: the request was found, and its owner will notice.
 */
struct host_thread *park_interrupt(u64 unique, bool *known);

/* Claims a parked call whose deadline is not after @now_ns; NULL: none. */
struct host_thread *park_claim_expired(u64 now_ns);

/* Claims a parked call that may not wait any longer (expire.h); NULL: none. */
struct host_thread *park_claim_overdue(void);

/* Calls @visit for each call that is parked or registered. Nothing else uses the table. */
void park_visit(void (*visit)(struct host_thread *thread, void *arg), void *arg);
/* A call that was taken over: it is parked, or owned by a queue. */
void park_restore(struct host_thread *thread, bool parked);

/* Claims a parked call of @proc; NULL: none. */
struct host_thread *park_claim_of(const struct host_proc *proc);

#endif
