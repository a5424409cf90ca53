// SPDX-License-Identifier: GPL-2.0
/*
 * A process that registered is notified once, when the owner of the node is gone.
 * entities/notice.c registers and clears; what is here notifies, delivers and acknowledges.
 */
#include "notices/death.h"

#include "common/cover.h"
#include "entities/notice.h"
#include "entities/ref.h"
#include "entities/thread.h"

/* The thread gets BR_ERROR, for want of memory. */
static void return_no_memory(struct binder_thread *thread)
{
	binder_lock(&thread->proc->inner_lock);
	thread->return_error.cmd = BR_ERROR;
	binder_thread_queue_ilocked(thread, &thread->return_error.work);
	binder_unlock(&thread->proc->inner_lock);
}

void binder_death_request(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	if (binder_notice_request(thread, WORK_DEATH, arg) == -ENOMEM)
		return_no_memory(thread);
}

void binder_death_done(struct binder_thread *thread, u64 cookie)
{
	struct binder_notice *notice;

	binder_lock(&thread->proc->inner_lock);
	notice = binder_notice_take_ilocked(thread->proc, &thread->proc->delivered_death, cookie);
	if (notice && notice->work.type == WORK_DEATH_AND_CLEAR) {
		BINDER_COVER(DEATH_CLEARED_UNANSWERED);
		notice->work.type = WORK_DEATH_CLEARED;
		binder_thread_queue_notice_ilocked(thread, &notice->work);
	}
	binder_unlock(&thread->proc->inner_lock);
	if (!notice)
		binder_notice_mistake(thread, "BC_DEAD_BINDER_DONE", "not delivered");
}

void binder_death_notify_nlocked(struct binder_node *node)
{
	struct binder_ref *ref;

	binder_assert_held(&node->lock);
	bl_for_each(ref, &node->refs, node_link) {
		struct binder_notice *notice = ref->death;
		struct binder_proc *proc = ref->proc;

		if (!notice)
			continue;
		binder_lock(&proc->inner_lock);
		if (!bl_linked(&notice->work.link) && !proc->is_dead)
			binder_proc_queue_ilocked(proc, &notice->work);
		binder_unlock(&proc->inner_lock);
	}
}

bool binder_death_deliver_ilocked(struct binder_proc *proc, struct binder_notice *notice, u32 *ret)
{
	bool cleared = notice->work.type == WORK_DEATH_CLEARED;

	binder_assert_held(&proc->inner_lock);
	*ret = cleared ? BR_CLEAR_DEATH_NOTIFICATION_DONE : BR_DEAD_BINDER;
	if (!cleared)
		bl_add_tail(&proc->delivered_death, &notice->work.link);
	return cleared;
}
