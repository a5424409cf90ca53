// SPDX-License-Identifier: GPL-2.0
/*
 * Freezing has two sides. The freezer marks the opens of a process as frozen, so that no
 * call can start, waits until the outstanding ones are over, and thaws the process again if
 * that takes too long. Processes with handles may register for each change: a notice is
 * delivered, and until it is acknowledged a further change is only noted to be sent later.
 */
#include "notices/freeze.h"

#include "common/cover.h"
#include "common/result.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/ref.h"
#include "entities/thread.h"
#include "entities/world.h"

/* ---- notifications ------------------------------------------------------------- */

int binder_freeze_done(struct binder_thread *thread, u64 cookie)
{
	struct binder_proc *proc = thread->proc;
	struct binder_notice *notice;

	binder_lock(&proc->inner_lock);
	notice = binder_notice_take_ilocked(proc, &proc->delivered_freeze, cookie);
	if (notice) {
		notice->sent = false;
		if (notice->resend) {
			BINDER_COVER(FREEZE_RESENT);
			notice->resend = false;
			binder_proc_queue_ilocked(proc, &notice->work);
		}
	}
	binder_unlock(&proc->inner_lock);
	if (notice)
		return 0;
	return binder_notice_mistake(thread, "BC_FREEZE_NOTIFICATION_DONE", "not delivered");
}

bool binder_freeze_deliver_ilocked(struct binder_proc *proc, struct binder_notice *notice, u32 *ret,
				   struct binder_frozen_state_info *state)
{
	binder_assert_held(&proc->inner_lock);
	state->cookie = notice->cookie;
	state->is_frozen = notice->is_frozen;
	state->reserved = 0;
	if (notice->work.type == WORK_FREEZE_CLEARED) {
		*ret = BR_CLEAR_FREEZE_NOTIFICATION_DONE;
		return true;
	}
	*ret = BR_FROZEN_BINDER;
	notice->sent = true;
	bl_add_tail(&proc->delivered_freeze, &notice->work.link);
	return false;
}

static void notify_ref(struct binder_ref *ref, bool frozen)
{
	struct binder_notice *notice = ref->freeze;
	struct binder_proc *proc = ref->proc;

	if (!notice)
		return;
	binder_lock(&proc->inner_lock);
	if (notice->sent)
		notice->resend |= notice->is_frozen != frozen;
	else if (!bl_linked(&notice->work.link) && !proc->is_dead)
		binder_proc_queue_ilocked(proc, &notice->work);
	notice->is_frozen = frozen;
	binder_unlock(&proc->inner_lock);
}

/* Notifies all references to nodes of @proc that registered. */
static void notify_refs(struct binder_proc *proc, bool frozen)
{
	struct binder_node *node;
	struct binder_ref *ref;
	u64 ptr = 0;

	while ((node = binder_node_find_from(proc, ptr))) {
		ptr = node->ptr + 1;
		binder_lock(&node->lock);
		bl_for_each(ref, &node->refs, node_link)
			notify_ref(ref, frozen);
		binder_unlock(&node->lock);
		binder_node_unpin(node);
		if (!ptr)
			break;
	}
}

/* ---- BINDER_FREEZE --------------------------------------------------------------- */

/*
 * The newest open of process @pid, as @thread's process sees it, that is older than @after (NULL:
 * the newest of all), with a reference. The C driver uses this order.
 */
static struct binder_proc *next_open(const struct binder_thread *thread, s32 pid,
				     const struct binder_proc *after)
{
	struct binder_proc *proc, *found = NULL;
	bool passed = !after;
	struct bl_list *link;

	binder_pi_mutex_lock(&binder_world.lock);
	for (link = binder_world.procs.prev; link != &binder_world.procs; link = link->prev) {
		proc = bl_entry(link, struct binder_proc, world_link);
		if (passed && host_proc_has_pid(&proc->host, &thread->proc->host, pid)) {
			found = proc;
			binder_proc_get(proc);
			break;
		}
		passed |= proc == after;
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	return found;
}

#define for_each_open(proc, next, thread, pid)                                               \
	for (proc = next_open(thread, pid, NULL), next = NULL; proc;                         \
	     next = next_open(thread, pid, proc), binder_proc_put(proc), proc = next)

/*
 * next_open() to freeze or thaw it; -EPERM if @thread may not. Of a process with several
 * opens some may be those of another user, from before it changed its user id.
 */
static int next_permitted(const struct binder_thread *thread, s32 pid,
			  const struct binder_proc *after, struct binder_proc **found)
{
	struct binder_proc *proc = next_open(thread, pid, after);
	int err = 0;

	if (proc)
		err = host_may_freeze(&thread->host, &proc->host,
				      binder_context_is_managed_by(proc->context, thread->proc));
	if (err) {
		binder_proc_put(proc);
		proc = NULL;
	}
	*found = proc;
	return err;
}

/* Does the process serve a call, or wait for a reply? */
static bool is_busy_ilocked(struct binder_proc *proc) REQUIRES(&proc->inner_lock)
{
	struct bt_node *n;

	binder_assert_held(&proc->inner_lock);
	if (proc->outstanding_txns > 0)
		return true;
	bt_for_each(n, &proc->threads) {
		if (bt_entry(n, struct binder_thread, by_tid)->stack)
			return true;
	}
	return false;
}

static void set_frozen(struct binder_proc *proc, bool frozen)
{
	binder_lock(&proc->inner_lock);
	proc->is_frozen = frozen && !proc->is_dead;
	proc->sync_recv = false;
	proc->async_recv = false;
	binder_unlock(&proc->inner_lock);
}

/*
 * 0: no call is outstanding; -EAGAIN: there is one; BINDER_WOULD_BLOCK: there is one, and
 * @thread will be woken when there is none.
 */
static int check_idle(struct binder_proc *proc, struct binder_thread *thread, bool wait)
{
	int err = 0;

	binder_lock(&proc->inner_lock);
	if (wait && proc->outstanding_txns > 0) {
		err = BINDER_WOULD_BLOCK;
		binder_proc_get(proc);
		thread->freeze_target = proc;
		bl_add_tail(&proc->freeze_waiters, &thread->freeze_link);
	} else if (is_busy_ilocked(proc)) {
		err = -EAGAIN;
	}
	binder_unlock(&proc->inner_lock);
	return err;
}

/* The process that @thread waited for, with a reference; NULL if it did not wait. */
static struct binder_proc *stop_waiting(struct binder_thread *thread)
{
	struct binder_proc *target = thread->freeze_target;

	if (target) {
		binder_lock(&target->inner_lock);
		bl_del(&thread->freeze_link);
		binder_unlock(&target->inner_lock);
	}
	thread->freeze_target = NULL;
	thread->wait = WAIT_NONE;
	return target;
}

/*
 * Freezes @proc, which is set frozen and referenced, and then the older opens. The first one
 * that is busy is thawed and ends it, and so does one that the caller may not freeze: newer
 * opens stay frozen, older ones are unchanged.
 */
static int freeze_opens(struct binder_thread *thread, struct binder_proc *proc, bool wait)
{
	struct binder_proc *next;
	int err = 0;

	while (proc && !err) {
		err = check_idle(proc, thread, wait);
		next = NULL;
		if (err == BINDER_WOULD_BLOCK) {
			BINDER_COVER(FREEZE_WAITED);
			thread->wait = WAIT_FREEZE;
		} else if (err) {
			BINDER_COVER(FREEZE_UNDONE);
			set_frozen(proc, false);
		} else {
			notify_refs(proc, true);
			err = next_permitted(thread, thread->freeze_pid, proc, &next);
		}
		if (next)
			set_frozen(next, true);
		binder_proc_put(proc);
		proc = next;
	}
	return err;
}

static int thaw_opens(const struct binder_thread *thread, struct binder_proc *proc, s32 pid)
{
	struct binder_proc *next;
	int err = 0;

	for (; proc; proc = next) {
		set_frozen(proc, false);
		notify_refs(proc, false);
		err = next_permitted(thread, pid, proc, &next);
		binder_proc_put(proc);
	}
	return err;
}

int binder_freeze_ioctl(struct binder_thread *thread, const struct binder_freeze_info *info)
{
	struct binder_proc *first;
	int err = next_permitted(thread, (s32)info->pid, NULL, &first);

	if (!first)
		return err ? err : -EINVAL;
	if (!info->enable)
		return thaw_opens(thread, first, (s32)info->pid);
	thread->freeze_pid = (s32)info->pid;
	thread->wait_timeout_ms = info->timeout_ms;
	set_frozen(first, true);
	return freeze_opens(thread, first, info->timeout_ms > 0);
}

int binder_freeze_resume(struct binder_thread *thread, int ended)
{
	struct binder_proc *target = stop_waiting(thread);
	int err = freeze_opens(thread, target, !ended);

	return err == -EAGAIN && ended ? ended : err;
}

int binder_freeze_info(const struct binder_thread *thread, struct binder_frozen_status_info *info)
{
	struct binder_proc *proc, *next;
	bool any = false;
	u32 sync = 0, async = 0;

	for_each_open(proc, next, thread, (s32)info->pid) {
		any = true;
		binder_lock(&proc->inner_lock);
		sync |= proc->sync_recv | (u32)is_busy_ilocked(proc) << 1;
		async |= proc->async_recv;
		binder_unlock(&proc->inner_lock);
	}
	if (!any)
		return -EINVAL;
	info->sync_recv = sync;
	info->async_recv = async;
	return 0;
}
