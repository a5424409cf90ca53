/* SPDX-License-Identifier: GPL-2.0 */
/*
 * linger: the completion of an answer told along with the next call.
 *
 * A thread that has answered reads BR_TRANSACTION_COMPLETE at once and comes back for the next
 * call: two ways into the home and out for one.  In a home where each of them is dear
 * (host_answers_linger()) the read that goes with the answer may linger: wait a moment for
 * the next call and tell both.  It does so for threads of a loop whose last calls came soon
 * after the answer, and who came back soon themselves; the home sees to it that the moment
 * is short.
 */
#ifndef BINDER_LINGER_H
#define BINDER_LINGER_H

#include "host.h"

struct binder_thread;

/* Of a thread; only used by its own calls. */
struct binder_linger {
	u64 answered_ns; /* when it sent its last answer; 0: it was called since */
	bool back_soon;	 /* it came back for work soon after that */
	bool on;	 /* it lingers */
	u8 quick;	 /* calls in a row that came soon to a thread that was back soon */
};

/* All by the thread's own call. */

void binder_linger_note_answer(struct binder_thread *thread, u64 now_ns);
void binder_linger_note_return(struct binder_thread *thread);
void binder_linger_note_call(struct binder_thread *thread, u64 sent_ns);

/* An answer was sent at @now_ns. */
static inline void binder_linger_answered(struct binder_thread *thread, u64 now_ns)
{
	if (host_answers_linger())
		binder_linger_note_answer(thread, now_ns);
}

/* It asks for work of the process. */
static inline void binder_linger_back(struct binder_thread *thread)
{
	if (host_answers_linger())
		binder_linger_note_return(thread);
}

/* A call that was sent at @sent_ns is being told. */
static inline void binder_linger_called(struct binder_thread *thread, u64 sent_ns)
{
	if (host_answers_linger())
		binder_linger_note_call(thread, sent_ns);
}

/* A read begins that could tell what there is: should it linger?  Then it waits, as for work of
 * the process, until it is woken or the home has it go on.  The process's inner_lock. */
bool binder_linger_begin_ilocked(struct binder_thread *thread);
/* It goes on.  The process's inner_lock. */
void binder_linger_end_ilocked(struct binder_thread *thread);

#endif
