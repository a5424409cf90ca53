/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The threads that serve requests.
 *
 * As many as there are cores serve, and none waits for a client knowingly. A client can still hold
 * one up by naming addresses in memory whose page faults somebody else has to resolve
 * (userfaultfd, a file system of its own): the copy then takes as long as that somebody likes, and
 * no signal ends it. A worker that makes no progress for a moment is therefore written off: a
 * spare one takes its place and what it still had to do for others; when it comes back it ends.
 */
#ifndef HOST_FUSE_WORKER_H
#define HOST_FUSE_WORKER_H

#include "host_types.h"

#include <pthread.h>

struct binder_file;

struct worker {
	_Atomic u64 unique;		/* call at hand; 0: none */
	atomic_int client_tid;		/* whose call it is */
	_Atomic u64 interrupted;	/* the request at hand that a signal came for */
	atomic_uint progress;		/* odd: busy; changes with every step */
	atomic_bool stuck;		/* written off */
	bool abandoned;			/* the call has been answered over its head */
	unsigned int seen;		/* progress at the last check */
	bool in_use;			/* guarded by the pool's lock */
	bool serves;			/* reads requests, or only works its list off */
	int tid;
	_Atomic u64 nodeid;		/* open whose client's memory is being used; 0: none */
	struct binder_file *stuck_file;	/* the one it got stuck in */

	struct host_lock_word lock;	/* what follows: work that another thread may take over */
	struct host_thread *woken_first;
	struct host_thread **woken_end;
	struct host_proc *polled_first;
	struct host_thread *unanswered;	/* whose call is done, but not yet answered */
	int result;			/* what it is to be answered with */
};

/* The running thread; never NULL in a thread that calls the engine. */
extern _Thread_local struct worker *worker_self;

/* Starts @count workers, which serve until the file system is unmounted. False: no threads. */
bool worker_start(unsigned int count);

/* Gives the running thread, which is not of the pool but calls the engine, a struct of its own. */
void worker_enlist(struct worker *worker);

/*
 * Lets a thread of its own finish what @worker has on its lists: for callers that must not be held
 * up by a client's memory.
 */
void worker_hand_over(struct worker *worker);

/*
 * The call of @thread has come to @result, but its answer can wait until the running worker has
 * done something more urgent; should that never end, another thread gives the answer.
 */
void worker_put_off_answer(struct host_thread *thread, int result);

/* Is the answer still the running worker's to give? It is from now on. */
bool worker_take_answer(void);

/*
 * Is some worker handling the request @unique at this moment? If so it is told that a signal came
 * for it. Called, as the next one, with the lock of the request's bucket held (park.c).
 */
bool worker_tell_interrupted(u64 unique);

/* Was the running worker told so about @unique? */
bool worker_was_interrupted(u64 unique);

/* Work on the call of @thread begins: from now on a stall is due to the memory of its process. */
void worker_begin_step(const struct host_thread *thread);

/*
 * Writes workers off that are still busy with the step of the last check, and replaces them. The
 * watcher calls it every WORKER_CHECK_MS while any worker is busy. Returns false if none is, so
 * that checking can stop until the next request.
 */
bool worker_check(void);

#define WORKER_CHECK_MS 20

/* Is any worker written off at the moment? Cheap. */
bool worker_any_stuck(void);

#endif
