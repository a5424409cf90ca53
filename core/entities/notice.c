// SPDX-License-Identifier: GPL-2.0
/*
 * Clearing a notice that is queued or delivered changes what its work means instead of removing
 * it: the client gets both return codes, in order, and then the notice is freed. Only a freeze
 * notice that is queued loses its first code.
 *
 * Notices are counted by their process, including those that were cleared and whose last
 * return code was not read yet: a client that registers and clears in turn makes them.
 */
#include "entities/notice.h"

#include "common/cover.h"
#include "common/limits.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "entities/thread.h"

static bool is_freeze(const struct binder_notice *notice)
{
	return notice->work.type == WORK_FREEZE || notice->work.type == WORK_FREEZE_CLEARED;
}

static enum binder_stat stat_of(const struct binder_notice *notice)
{
	return is_freeze(notice) ? STAT_FREEZE : STAT_DEATH;
}

struct binder_notice *binder_notice_new(struct binder_proc *proc, enum binder_work_type type,
					u64 cookie)
{
	struct binder_notice *notice = NULL;

	if (host_atomic_add_return(&proc->nr_notices, 1) <= BINDER_MAX_NOTICES)
		notice = host_alloc(&proc->host, sizeof(*notice));
	if (!notice) {
		host_atomic_add(&proc->nr_notices, -1);
		return NULL;
	}
	binder_work_init(&notice->work, type);
	notice->proc = proc;
	notice->cookie = cookie;
	return notice;
}

void binder_notice_discard(struct binder_notice *notice)
{
	host_atomic_add(&notice->proc->nr_notices, -1);
	host_free(notice);
}

void binder_notice_free(struct binder_notice *notice)
{
	if (!notice)
		return;
	binder_stats_deleted(stat_of(notice));
	binder_notice_discard(notice);
}

struct binder_notice *binder_notice_take_ilocked(struct binder_proc *proc,
						 struct bl_list *delivered, u64 cookie)
{
	struct binder_notice *notice;

	binder_assert_held(&proc->inner_lock);
	bl_for_each(notice, delivered, work.link) {
		if (notice->cookie == cookie) {
			bl_del(&notice->work.link);
			return notice;
		}
	}
	return NULL;
}

int binder_notice_mistake(const struct binder_thread *thread, const char *command, const char *what)
{
	host_log(HOST_LOG_USER_ERROR, "%d:%d %s: %s", thread->proc->pid, thread->tid, command,
		 what);
	return -EINVAL;
}

/* ---- registering and clearing ------------------------------------------------------ */

/*
 * Is the node's owner frozen? Takes the owner's inner lock, so the caller must not hold
 * another one.
 */
static bool owner_is_frozen_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	struct binder_proc *owner = node->proc;
	bool frozen = false;

	binder_assert_held(&node->lock);
	if (owner) {
		binder_lock(&owner->inner_lock);
		frozen = owner->is_frozen;
		binder_unlock(&owner->inner_lock);
	}
	return frozen;
}

/*
 * Puts @notice into its reference, and queues it if there is something to tell already: that
 * the owner is dead, or the present state of an owner that lives. Returns the mistake, if any.
 */
static const char *attach_nlocked(struct binder_node *node, struct binder_notice **slot,
				  struct binder_notice *notice) REQUIRES(&node->lock)
{
	struct binder_proc *proc = notice->proc;
	bool alive = node->proc;

	binder_assert_held(&node->lock);
	if (*slot)
		return "already requested";
	*slot = notice;
	binder_stats_created(stat_of(notice));
	if (is_freeze(notice))
		notice->is_frozen = owner_is_frozen_nlocked(node);
	else if (!alive)
		BINDER_COVER(DEATH_ALREADY_DEAD);
	if (alive == is_freeze(notice)) {
		binder_lock(&proc->inner_lock);
		binder_proc_queue_ilocked(proc, &notice->work);
		binder_unlock(&proc->inner_lock);
	}
	return NULL;
}

static void clear_death_ilocked(struct binder_thread *thread, struct binder_notice *notice)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	if (bl_linked(&notice->work.link)) {
		BINDER_COVER(DEATH_CLEARED_QUEUED);
		notice->work.type = WORK_DEATH_AND_CLEAR;
	} else {
		notice->work.type = WORK_DEATH_CLEARED;
		binder_thread_queue_notice_ilocked(thread, &notice->work);
	}
}

static void clear_freeze_ilocked(struct binder_proc *proc, struct binder_notice *notice)
	REQUIRES(&proc->inner_lock)
{
	binder_assert_held(&proc->inner_lock);
	notice->work.type = WORK_FREEZE_CLEARED;
	if (notice->sent) {
		BINDER_COVER(FREEZE_CLEARED_UNANSWERED);
		notice->resend = true; /* when it is acknowledged */
	} else if (!bl_linked(&notice->work.link)) {
		binder_proc_queue_ilocked(proc, &notice->work);
	}
}

/*
 * Takes the notice out of its reference and has the client notified; returns the mistake,
 * if any.
 */
static const char *detach_nlocked(struct binder_node *node, struct binder_notice **slot,
				  struct binder_thread *thread, u64 cookie) REQUIRES(&node->lock)
{
	struct binder_notice *notice = *slot;

	binder_assert_held(&node->lock);
	if (!notice)
		return "not requested";
	if (notice->cookie != cookie)
		return "wrong cookie";
	*slot = NULL;
	binder_lock(&thread->proc->inner_lock);
	if (is_freeze(notice))
		clear_freeze_ilocked(thread->proc, notice);
	else
		clear_death_ilocked(thread, notice);
	binder_unlock(&thread->proc->inner_lock);
	return NULL;
}

/* Registers @notice with the reference, or with NULL clears what is; returns the mistake. */
static const char *change_notice(struct binder_thread *thread, enum binder_work_type type,
				 const struct binder_handle_cookie *arg,
				 struct binder_notice *notice)
{
	struct binder_proc *proc = thread->proc;
	const char *mistake = "no such handle";
	struct binder_ref *ref;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_notice **slot = type == WORK_FREEZE ? &ref->freeze : &ref->death;
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		mistake = notice ? attach_nlocked(node, slot, notice) :
				   detach_nlocked(node, slot, thread, arg->cookie);
		binder_unlock(&node->lock);
	}
	binder_unlock(&proc->outer_lock);
	return mistake;
}

int binder_notice_request(struct binder_thread *thread, enum binder_work_type type,
			  const struct binder_handle_cookie *arg)
{
	struct binder_notice *notice = binder_notice_new(thread->proc, type, arg->cookie);
	const char *mistake;

	if (!notice)
		return -ENOMEM;
	mistake = change_notice(thread, type, arg, notice);
	if (!mistake)
		return 0;
	binder_notice_discard(notice);
	return binder_notice_mistake(thread, type == WORK_FREEZE ?
				     "BC_REQUEST_FREEZE_NOTIFICATION" :
				     "BC_REQUEST_DEATH_NOTIFICATION", mistake);
}

int binder_notice_clear(struct binder_thread *thread, enum binder_work_type type,
			const struct binder_handle_cookie *arg)
{
	const char *mistake = change_notice(thread, type, arg, NULL);

	if (!mistake)
		return 0;
	return binder_notice_mistake(thread, type == WORK_FREEZE ?
				     "BC_CLEAR_FREEZE_NOTIFICATION" :
				     "BC_CLEAR_DEATH_NOTIFICATION", mistake);
}
