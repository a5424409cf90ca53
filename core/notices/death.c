// SPDX-License-Identifier: GPL-2.0
/*
 * Clearing a notice that is queued changes what its work means instead of removing it: the
 * client gets both return codes, in order, and then the notice is freed.
 */
#include "notices/death.h"

#include "common/cover.h"
#include "things/notice.h"
#include "things/ref.h"
#include "things/thread.h"

/* The thread gets BR_ERROR, for want of memory. */
static void return_no_memory(struct binder_thread *thread)
{
	binder_lock(&thread->proc->inner_lock);
	thread->return_error.cmd = BR_ERROR;
	binder_thread_queue_ilocked(thread, &thread->return_error.work);
	binder_unlock(&thread->proc->inner_lock);
}

/* Registers @notice. If the owner is dead already, the notice is queued at once. */
static void attach_nlocked(struct binder_node *node, struct binder_ref *ref,
			   struct binder_notice *notice) REQUIRES(&node->lock)
{
	struct binder_proc *proc = notice->proc;

	binder_assert_held(&node->lock);
	ref->death = notice;
	if (node->proc)
		return;
	BINDER_COVER(DEATH_ALREADY_DEAD);
	binder_lock(&proc->inner_lock);
	binder_proc_queue_ilocked(proc, &notice->work);
	binder_unlock(&proc->inner_lock);
}

void binder_death_request(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	struct binder_notice *notice = binder_notice_new(proc, WORK_DEATH, arg->cookie);
	const char *mistake = NULL;
	struct binder_ref *ref;

	if (!notice) {
		return_no_memory(thread);
		return;
	}
	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		if (ref->death)
			mistake = "already requested";
		else
			attach_nlocked(node, ref, notice);
		binder_unlock(&node->lock);
	} else {
		mistake = "no such handle";
	}
	binder_unlock(&proc->outer_lock);
	if (mistake) {
		binder_notice_log_mistake(thread, "BC_REQUEST_DEATH_NOTIFICATION", mistake);
		binder_notice_free(notice);
	}
}

/*
 * Detaches the notice from its reference and has the client notified; returns the mistake,
 * if any.
 */
static const char *detach_nlocked(struct binder_node *node, struct binder_ref *ref,
				  struct binder_thread *thread, u64 cookie) REQUIRES(&node->lock)
{
	struct binder_notice *notice = ref->death;

	binder_assert_held(&node->lock);
	if (!notice)
		return "not requested";
	if (notice->cookie != cookie)
		return "wrong cookie";
	ref->death = NULL;
	binder_lock(&thread->proc->inner_lock);
	if (bl_linked(&notice->work.link)) {
		BINDER_COVER(DEATH_CLEARED_QUEUED);
		notice->work.type = WORK_DEATH_AND_CLEAR;
	} else {
		notice->work.type = WORK_DEATH_CLEARED;
		binder_thread_queue_notice_ilocked(thread, &notice->work);
	}
	binder_unlock(&thread->proc->inner_lock);
	return NULL;
}

void binder_death_clear(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	const char *mistake = "no such handle";
	struct binder_ref *ref;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		mistake = detach_nlocked(node, ref, thread, arg->cookie);
		binder_unlock(&node->lock);
	}
	binder_unlock(&proc->outer_lock);
	if (mistake)
		binder_notice_log_mistake(thread, "BC_CLEAR_DEATH_NOTIFICATION", mistake);
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
		binder_notice_log_mistake(thread, "BC_DEAD_BINDER_DONE", "not delivered");
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
