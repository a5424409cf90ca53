/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls that are completed on the core of their thread.
 *
 * To complete a call is to copy to the memory of its thread and to wake it. On another core than
 * the thread's, both take longer: the memory is in the cache of that core, and the scheduler's
 * queue is locked, and in a virtual machine interrupted, from afar. So a worker leaves a call to
 * the worker that runs on the core of the thread, as the block layer completes a request on the
 * core from which it came (rq_affinity). It does so only if that worker is at work, which then
 * finds the call when it is done with its request: no worker is woken for a call.
 */
#ifndef HOST_FUSE_AFFINITY_H
#define HOST_FUSE_AFFINITY_H

#include "host_types.h"

/* Before the @nr_workers workers start. One worker, or one core: nothing is steered. */
void affinity_init(unsigned int nr_workers);

/* The running worker has read a request, and is at work from now on. */
void affinity_note_worker(void);

/* A call of @thread begins. Asks the kernel now and then for the core of the thread. */
void affinity_note_caller(struct host_thread *thread);

/*
 * Leaves @thread, whose call the running thread has claimed, to the worker of its core, which
 * resumes the call. False: there is none at work, or it is the running one. Any lock of the engine
 * may be held; does not sleep.
 */
bool affinity_woken(struct host_thread *thread);

/*
 * Leaves the call of @thread, which is complete with @result, to the worker of the thread's core,
 * which replies to it. False: as affinity_woken().
 */
bool affinity_reply(struct host_thread *thread, int result);

#endif
