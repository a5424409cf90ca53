/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stage: where a call is on its way, for who wants to know where its time goes.  A record is made
 * at each of five places, by the thread that has come there; a round trip passes them once on the
 * way to the server and once on the way back:
 *
 *   K_IOC    a thread entered BINDER_WRITE_READ (no number yet: its next K_WR_IN tells)
 *   K_WR_IN  its call, one-way call or reply is read in
 *   K_ENQ    ... and about to be queued to whom it is for
 *   K_DEQ    a receiver has taken it off its list
 *   K_COPY   ... and what tells of it is in the receiver's read buffer
 *
 * The home keeps the records, with the time (host_trace_stage()).
 */
#ifndef BINDER_STAGE_H
#define BINDER_STAGE_H

#include "things/proc.h"
#include "things/thread.h"

/* @id: of the transaction, 0 at K_IOC; @answers: at K_ENQ of a reply, the call that it answers;
 * else 0.  [atomic] */
static inline void binder_stage(enum host_stage stage, const struct binder_thread *thread, u32 id,
				u32 answers)
{
	if (host_trace_stages_wanted())
		host_trace_stage(stage, id, answers, thread->proc->pid, thread->tid);
}

#endif
