/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stage: the stages of a round trip, recorded to measure where its time goes. Each stage is
 * recorded by the thread that reaches it, once on the way to the server and once on the way
 * back:
 *
 *   K_IOC    a thread entered BINDER_WRITE_READ (without a number: the next K_WR_IN has it)
 *   K_WR_IN  its call, one-way call or reply was read
 *   K_ENQ    ... and is about to be queued
 *   K_DEQ    a thread of the receiver has dequeued it
 *   K_COPY   ... and its return code is in the receiver's read buffer
 *
 * The host keeps the records, with the time (host_trace_stage()).
 */
#ifndef BINDER_STAGE_H
#define BINDER_STAGE_H

#include "entities/proc.h"
#include "entities/thread.h"

/*
 * @id: of the transaction, 0 at K_IOC; @answers: at K_ENQ of a reply, the call that it is for,
 * else 0. Any lock may be held.
 */
static inline void binder_stage(enum host_stage stage, const struct binder_thread *thread, u32 id,
				u32 answers)
{
	if (host_trace_stages_wanted())
		host_trace_stage(stage, id, answers, thread->proc->pid, thread->tid);
}

#endif
