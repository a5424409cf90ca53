/* SPDX-License-Identifier: GPL-2.0 */
/*
 * looper: the threads of a process that serve its calls. A thread enters the loop by
 * itself (BC_ENTER_LOOPER) or because the driver asked the process for another one
 * (BR_SPAWN_LOOPER, then BC_REGISTER_LOOPER).
 */
#ifndef BINDER_LOOPER_H
#define BINDER_LOOPER_H

#include "common/abi.h"
#include "entities/thread.h"

/*
 * The three commands. A mistake of the client is logged and marks the thread
 * LOOPER_INVALID. No lock held.
 */
void binder_looper_register(struct binder_thread *thread);
void binder_looper_enter(struct binder_thread *thread);
void binder_looper_exit(struct binder_thread *thread);

/* A stale "no" is asked again with the next return. */
static inline bool binder_looper_may_request_racy(const struct binder_proc *proc)
{
	return !BINDER_READ_ONCE(proc->requested_threads) &&
	       BINDER_READ_ONCE(proc->requested_threads_started) <
		       BINDER_READ_ONCE(proc->max_threads);
}

/*
 * Should the process start another thread, and is this the moment to ask for it: no thread
 * waits, none was requested, and fewer than max_threads were started? Counts the request.
 * @thread: the looper that is about to return. No lock held.
 */
bool binder_looper_request_spawn(struct binder_thread *thread);
/* The request could not be returned. No lock held. */
void binder_looper_withdraw_spawn(struct binder_thread *thread);

/* BINDER_SET_MAX_THREADS. */
void binder_looper_set_max_threads(struct binder_thread *thread, u32 max);

#endif
