// SPDX-License-Identifier: GPL-2.0
/*
 * Trust is earned by a row of quick calls and lost by one that is not.  A thread that lingers
 * cannot show that it would have come back soon, and one that has other things to do after an
 * answer would keep the next call waiting for them: so now and then it does not linger, and is
 * watched.
 */
#include "linger.h"

#include "proc.h"
#include "thread.h"

#define SOON_NS 100000 /* a few round trips */
#define TRUST	8      /* calls in a row */
#define DOUBT	72     /* after so many the last one is to be earned again */

void binder_linger_note_answer(struct binder_thread *thread, u64 now_ns)
{
	thread->linger.answered_ns = now_ns;
	thread->linger.back_soon = false;
}

void binder_linger_note_return(struct binder_thread *thread)
{
	struct binder_linger *linger = &thread->linger;

	if (linger->answered_ns && !linger->back_soon)
		linger->back_soon = host_now_ns() - linger->answered_ns < SOON_NS;
}

void binder_linger_note_call(struct binder_thread *thread, u64 sent_ns)
{
	struct binder_linger *linger = &thread->linger;
	bool soon = linger->answered_ns && linger->back_soon &&
		    (s64)(sent_ns - linger->answered_ns) < SOON_NS;

	linger->quick = soon ? linger->quick + 1 : 0;
	if (linger->quick == DOUBT)
		linger->quick = TRUST - 1;
	linger->answered_ns = 0;
}

/* Nothing but the completion of an answer? */
static bool only_completed_ilocked(const struct binder_thread *thread)
{
	const struct bl_list *first = thread->todo.next;

	return first != &thread->todo && first->next == &thread->todo &&
	       bl_entry(first, struct binder_work, link)->type == WORK_COMPLETE;
}

bool binder_linger_begin_ilocked(struct binder_thread *thread) NO_TSA
{
	const u32 loops = LOOPER_REGISTERED | LOOPER_ENTERED;
	const u32 not = LOOPER_POLL | LOOPER_EXITED | LOOPER_INVALID;

	if (!host_answers_linger() || thread->linger.quick < TRUST)
		return false;
	if (!thread->linger.answered_ns || thread->stack || thread->need_return)
		return false;
	if (!(thread->looper & loops) || thread->looper & not ||
	    !bl_empty(&thread->proc->todo) || !only_completed_ilocked(thread))
		return false;
	thread->linger.on = true;
	thread->linger.back_soon = true;
	return true;
}

void binder_linger_end_ilocked(struct binder_thread *thread)
{
	thread->linger.on = false;
	if (only_completed_ilocked(thread)) {
		thread->linger.quick = 0;
		thread->linger.answered_ns = 0;
	}
}
