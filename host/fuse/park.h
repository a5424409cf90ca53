/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parked requests: calls that wait, without a thread of the daemon waiting with them.
 *
 * A call is RUNNING while a worker is in the engine for it, and PARKED when the engine had nothing
 * for it. Exactly one party takes a parked call back to RUNNING: the worker that queued work for
 * it, the one that read its INTERRUPT, or the watcher when its time is up; that party goes on with
 * the call and answers it.
 */
#ifndef HOST_FUSE_PARK_H
#define HOST_FUSE_PARK_H

#include "host_types.h"

enum park_state {
	PARK_IDLE,	/* no call */
	PARK_RUNNING,	/* somebody works on the call */
	PARK_WOKEN,	/* the same, and work has come meanwhile: parking is refused */
	PARK_PARKED,
};

/* What park_wait() found. */
enum park_result { PARK_DONE, PARK_GO_ON, PARK_INTERRUPTED, PARK_REFUSED };

/* A call of @thread begins. False: it has one already, which no thread can bring about. */
bool park_begin(struct host_thread *thread);

/*
 * The call will be answered later by somebody who owns it, without being parked: from now on an
 * INTERRUPT for it is recognised.
 */
void park_keep(struct host_thread *thread);

/*
 * The engine said that the call would block. PARK_DONE: it is parked, and @thread must not be
 * touched any more. Else the call has to be resumed at once, for the reason given, or
 * (PARK_REFUSED) answered, because its open is over.
 */
enum park_result park_wait(struct host_thread *thread);

/* The call is over. Must come before its answer: from then on the thread may call again. */
void park_end(struct host_thread *thread);

/*
 * Work came for @thread: if parked, it joins the list of the running worker. Atomic: any of the
 * engine's locks may be held.
 */
void park_wake(struct host_thread *thread);

/* Puts a thread whose call the caller owns on the running worker's list. */
void park_push_woken(struct host_thread *thread);

/* Is there any thread on the running worker's list? */
bool park_has_woken(void);

/* Takes the next thread from the running worker's list; NULL: there is none. */
struct host_thread *park_next_woken(void);

/* Somebody polls the file of @proc and wants to be told. Atomic, as park_wake(). */
void park_wake_poll(struct host_proc *proc);

/* Sends the notices that park_wake_poll() asked for in this worker. No lock held. */
void park_notify_polled(void);

/*
 * A signal came for the request @unique. Returns the thread if it was parked (the caller then
 * resumes it as interrupted). Else NULL; @known tells whether whoever works on the request will
 * notice.
 */
struct host_thread *park_interrupt(u64 unique, bool *known);

/* Takes a parked thread whose deadline is @now_ns or earlier; NULL: none. */
struct host_thread *park_next_expired(u64 now_ns);


/* Takes a parked thread of @proc; NULL: none. */
struct host_thread *park_next_of(const struct host_proc *proc);

#endif
