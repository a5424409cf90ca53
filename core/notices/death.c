// SPDX-License-Identifier: GPL-2.0
/*
 * A registration belongs to the ref until it is cleared.  On its way it stands
 * in one list at most: a todo list (to be told), the process's delivered_death
 * (told, the answer is awaited), or none.  Clearing one that is on its way
 * changes what its work means instead of taking it out: the client gets both
 * notices, in order, and only then is it gone.
 */
#include "notices/death.h"

#include "things/context.h"
#include "common/cover.h"
#include "things/node.h"
#include "things/proc.h"
#include "things/ref.h"
#include "things/thread.h"

/* Logs a mistake of the client's; nothing is changed by it. */
static void death_mistake(struct binder_thread *thread, const char *what, u32 handle, u64 cookie)
{
	host_log(HOST_LOG_USER_ERROR, "%d:%d %s (handle %u cookie %llx)", thread->proc->pid,
		 thread->tid, what, handle, (unsigned long long)cookie);
}

/* The thread hears BR_ERROR: there was no memory. */
static void no_memory(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;

	binder_lock(&proc->inner_lock);
	thread->return_error.cmd = BR_ERROR;
	binder_thread_queue_ilocked(thread, &thread->return_error.work);
	binder_unlock(&proc->inner_lock);
}

/* Registers @death; a target that is dead already is told of at once. */
static void death_attach_nlocked(struct binder_proc *proc, struct binder_ref *ref,
			   struct binder_death *death) NO_TSA
{
	ref->death = death;
	if (ref->node->proc)
		return;
	BINDER_COVER(DEATH_OF_THE_DEAD);
	binder_lock(&proc->inner_lock);
	bl_add_tail(&proc->todo, &death->work.link);
	binder_wake_proc_ilocked(proc);
	binder_unlock(&proc->inner_lock);
}

static struct binder_death *new_death(struct binder_proc *proc, u64 cookie)
{
	struct binder_death *death;

	if (!binder_proc_add_notice(proc))
		return NULL;
	death = host_alloc(sizeof(*death));
	if (!death) {
		binder_proc_drop_notice(proc);
		return NULL;
	}
	binder_work_init(&death->work, WORK_DEATH);
	death->proc = proc;
	death->cookie = cookie;
	binder_stats_created(STAT_DEATH);
	return death;
}

void binder_death_free(struct binder_death *death)
{
	binder_proc_drop_notice(death->proc);
	host_free(death);
	binder_stats_deleted(STAT_DEATH);
}

void binder_death_request(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	struct binder_death *death = new_death(proc, arg->cookie);
	const char *wrong = NULL;
	struct binder_ref *ref;

	if (!death) {
		no_memory(thread);
		return;
	}
	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		if (ref->death)
			wrong = "death notification requested twice";
		else
			death_attach_nlocked(proc, ref, death);
		binder_unlock(&node->lock);
	} else {
		wrong = "death notification requested for no handle";
	}
	binder_unlock(&proc->outer_lock);
	if (wrong) {
		death_mistake(thread, wrong, arg->handle, arg->cookie);
		binder_death_free(death);
	}
}

/* Takes the registration from its ref and lets the client know. */
static const char *death_detach_nlocked(struct binder_thread *thread, struct binder_ref *ref,
				  u64 cookie)
{
	struct binder_death *death = ref->death;
	struct binder_proc *proc = thread->proc;

	if (!death)
		return "death notification cleared that was not requested";
	if (death->cookie != cookie)
		return "death notification cleared with a wrong cookie";
	ref->death = NULL;
	binder_lock(&proc->inner_lock);
	if (bl_linked(&death->work.link)) {
		BINDER_COVER(DEATH_CLEARED_ON_ITS_WAY);
		death->work.type = WORK_DEATH_AND_CLEAR;
	} else {
		death->work.type = WORK_DEATH_CLEARED;
		binder_thread_queue_notice_ilocked(thread, &death->work);
	}
	binder_unlock(&proc->inner_lock);
	return NULL;
}

void binder_death_clear(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	const char *wrong = "death notification cleared for no handle";
	struct binder_ref *ref;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		wrong = death_detach_nlocked(thread, ref, arg->cookie);
		binder_unlock(&node->lock);
	}
	binder_unlock(&proc->outer_lock);
	if (wrong)
		death_mistake(thread, wrong, arg->handle, arg->cookie);
}

void binder_death_done(struct binder_thread *thread, u64 cookie)
{
	struct binder_proc *proc = thread->proc;
	struct binder_death *death;
	bool found = false;

	binder_lock(&proc->inner_lock);
	bl_for_each(death, &proc->delivered_death, work.link) {
		found = death->cookie == cookie;
		if (found)
			break;
	}
	if (found) {
		bl_del(&death->work.link);
		if (death->work.type == WORK_DEATH_AND_CLEAR) {
			BINDER_COVER(DEATH_CLEARED_UNANSWERED);
			death->work.type = WORK_DEATH_CLEARED;
			binder_thread_queue_notice_ilocked(thread, &death->work);
		}
	}
	binder_unlock(&proc->inner_lock);
	if (!found)
		death_mistake(thread, "BC_DEAD_BINDER_DONE for nothing delivered", 0, cookie);
}

void binder_death_notify_nlocked(struct binder_node *node) NO_TSA
{
	struct binder_ref *ref;

	bl_for_each(ref, &node->refs, node_link) {
		struct binder_proc *proc = ref->proc;
		struct binder_death *death = ref->death;

		if (!death)
			continue;
		binder_lock(&proc->inner_lock);
		if (!bl_linked(&death->work.link) && !proc->is_dead) {
			bl_add_tail(&proc->todo, &death->work.link);
			binder_wake_proc_ilocked(proc);
		}
		binder_unlock(&proc->inner_lock);
	}
}

bool binder_death_deliver_ilocked(struct binder_proc *proc, struct binder_death *death, u32 *ret,
			       u64 *cookie) NO_TSA
{
	*cookie = death->cookie;
	if (death->work.type == WORK_DEATH_CLEARED) {
		*ret = BR_CLEAR_DEATH_NOTIFICATION_DONE;
		return true;
	}
	*ret = BR_DEAD_BINDER;
	bl_add_tail(&proc->delivered_death, &death->work.link);
	return false;
}
