// SPDX-License-Identifier: GPL-2.0
/*
 * Freezing has two sides.  The one who freezes marks all opens of a process as
 * frozen, so that nothing new can start, waits until what had started is over,
 * and takes the marks back if that takes too long.  Those who hold handles may
 * ask to be told of each change: a notice is sent, and while its answer is
 * awaited further changes only leave a note to send again.
 */
#include "notices/freeze.h"

#include "things/context.h"
#include "core.h"
#include "common/cover.h"
#include "things/node.h"
#include "things/proc.h"
#include "things/ref.h"
#include "things/thread.h"

/* ---- notifications ------------------------------------------------------------- */

static int freeze_mistake(struct binder_thread *thread, const char *what, u64 cookie)
{
	host_log(HOST_LOG_USER_ERROR, "%d:%d %s (cookie %llx)", thread->proc->pid, thread->tid,
		 what, (unsigned long long)cookie);
	return -EINVAL;
}

/* Is the node's owner frozen?  Its inner lock is not the caller's, and both are
 * of one rank, so this comes before the caller takes its own. */
static bool owner_is_frozen_nlocked(struct binder_node *node) REQUIRES(&node->lock)
{
	bool frozen = false;

	if (node->proc) {
		binder_lock(&node->proc->inner_lock);
		frozen = node->proc->is_frozen;
		binder_unlock(&node->proc->inner_lock);
	}
	return frozen;
}

/* For any thread of the process, whichever thread asked. */
static void queue_ilocked(struct binder_proc *proc, struct binder_freeze *freeze)
	REQUIRES(&proc->inner_lock)
{
	bl_add_tail(&proc->todo, &freeze->work.link);
	binder_wake_proc_ilocked(proc);
}

static const char *freeze_attach_nlocked(struct binder_proc *proc, struct binder_ref *ref,
				  struct binder_freeze *freeze) NO_TSA
{
	if (ref->freeze)
		return "freeze notification requested twice";
	freeze->is_frozen = owner_is_frozen_nlocked(ref->node);
	ref->freeze = freeze;
	if (!ref->node->proc)
		return NULL; /* the dead neither freeze nor thaw */
	/* The first notice tells the state at the start. */
	binder_lock(&proc->inner_lock);
	queue_ilocked(proc, freeze);
	binder_unlock(&proc->inner_lock);
	return NULL;
}

static struct binder_freeze *new_freeze(struct binder_proc *proc, u64 cookie)
{
	struct binder_freeze *freeze;

	if (!binder_proc_add_notice(proc))
		return NULL;
	freeze = host_alloc(sizeof(*freeze));
	if (!freeze) {
		binder_proc_drop_notice(proc);
		return NULL;
	}
	binder_work_init(&freeze->work, WORK_FREEZE);
	freeze->proc = proc;
	freeze->cookie = cookie;
	binder_stats_created(STAT_FREEZE);
	return freeze;
}

void binder_freeze_free(struct binder_freeze *freeze)
{
	binder_proc_drop_notice(freeze->proc);
	host_free(freeze);
	binder_stats_deleted(STAT_FREEZE);
}

int binder_freeze_request(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	const char *wrong = "freeze notification requested for no handle";
	struct binder_freeze *freeze = new_freeze(proc, arg->cookie);
	struct binder_ref *ref;

	if (!freeze)
		return -ENOMEM;
	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		wrong = freeze_attach_nlocked(proc, ref, freeze);
		binder_unlock(&node->lock);
	}
	binder_unlock(&proc->outer_lock);
	if (!wrong)
		return 0;
	binder_freeze_free(freeze);
	return freeze_mistake(thread, wrong, arg->cookie);
}

static const char *freeze_detach_nlocked(struct binder_proc *proc, struct binder_ref *ref,
					 u64 cookie) NO_TSA
{
	struct binder_freeze *freeze = ref->freeze;

	if (!freeze)
		return "freeze notification cleared that was not requested";
	if (freeze->cookie != cookie)
		return "freeze notification cleared with a wrong cookie";
	ref->freeze = NULL;
	binder_lock(&proc->inner_lock);
	freeze->work.type = WORK_FREEZE_CLEARED;
	if (freeze->sent) {
		BINDER_COVER(FREEZE_CLEARED_UNANSWERED);
		freeze->resend = true; /* after its answer */
	} else if (!bl_linked(&freeze->work.link)) {
		queue_ilocked(proc, freeze);
	}
	binder_unlock(&proc->inner_lock);
	return NULL;
}

int binder_freeze_clear(struct binder_thread *thread, const struct binder_handle_cookie *arg)
{
	struct binder_proc *proc = thread->proc;
	const char *wrong = "freeze notification cleared for no handle";
	struct binder_ref *ref;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_olocked(proc, arg->handle, false);
	if (ref) {
		struct binder_node *node = ref->node;

		binder_lock(&node->lock);
		wrong = freeze_detach_nlocked(proc, ref, arg->cookie);
		binder_unlock(&node->lock);
	}
	binder_unlock(&proc->outer_lock);
	return wrong ? freeze_mistake(thread, wrong, arg->cookie) : 0;
}

int binder_freeze_done(struct binder_thread *thread, u64 cookie)
{
	struct binder_proc *proc = thread->proc;
	struct binder_freeze *freeze;
	bool found = false;

	binder_lock(&proc->inner_lock);
	bl_for_each(freeze, &proc->delivered_freeze, work.link) {
		found = freeze->cookie == cookie;
		if (found)
			break;
	}
	if (found) {
		bl_del(&freeze->work.link);
		freeze->sent = false;
		if (freeze->resend) {
			BINDER_COVER(FREEZE_RESENT);
			freeze->resend = false;
			queue_ilocked(proc, freeze);
		}
	}
	binder_unlock(&proc->inner_lock);
	if (found)
		return 0;
	return freeze_mistake(thread, "BC_FREEZE_NOTIFICATION_DONE for nothing delivered", cookie);
}

bool binder_freeze_deliver_ilocked(struct binder_proc *proc, struct binder_freeze *freeze, u32 *ret,
				struct binder_frozen_state_info *state) NO_TSA
{
	state->cookie = freeze->cookie;
	if (freeze->work.type == WORK_FREEZE_CLEARED) {
		*ret = BR_CLEAR_FREEZE_NOTIFICATION_DONE;
		return true;
	}
	*ret = BR_FROZEN_BINDER;
	state->is_frozen = freeze->is_frozen;
	state->reserved = 0;
	freeze->sent = true;
	bl_add_tail(&proc->delivered_freeze, &freeze->work.link);
	return false;
}

static void notify_ref(struct binder_ref *ref, bool frozen) NO_TSA
{
	struct binder_freeze *freeze = ref->freeze;
	struct binder_proc *proc = ref->proc;

	if (!freeze)
		return;
	binder_lock(&proc->inner_lock);
	if (freeze->sent) {
		freeze->resend |= freeze->is_frozen != frozen;
	} else if (!bl_linked(&freeze->work.link) && !proc->is_dead) {
		queue_ilocked(proc, freeze);
	}
	freeze->is_frozen = frozen;
	binder_unlock(&proc->inner_lock);
}

/* Tells everybody who asked about an object of @proc. */
static void notify_listeners(struct binder_proc *proc, bool frozen)
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

/* The open of process @pid that was made before @after (NULL: the newest),
 * counted.  Stock goes through them in this order. */
static struct binder_proc *next_open(s32 pid, struct binder_proc *after)
{
	struct binder_proc *proc, *found = NULL;
	bool passed = !after;
	struct bl_list *link;

	binder_pi_mutex_lock(&binder_world.lock);
	for (link = binder_world.procs.prev; link != &binder_world.procs; link = link->prev) {
		proc = bl_entry(link, struct binder_proc, world_link);
		if (passed && proc->pid == pid) {
			found = proc;
			binder_proc_get(proc);
			break;
		}
		passed |= proc == after;
	}
	binder_pi_mutex_unlock(&binder_world.lock);
	return found;
}

#define for_each_open(proc, next, pid)                                                       \
	for (proc = next_open(pid, NULL), next = NULL; proc;                                 \
	     next = next_open(pid, proc), binder_proc_put(proc), proc = next)

/* Calls that were delivered to it or made by it and are not over. */
static bool is_busy_ilocked(struct binder_proc *proc) NO_TSA
{
	struct bt_node *n;

	if (proc->outstanding_txns > 0)
		return true;
	bt_for_each(n, &proc->threads) {
		if (bt_entry(n, struct binder_thread, by_tid)->stack)
			return true;
	}
	return false;
}

/* Sets or takes back the mark. */
static void mark(struct binder_proc *proc, bool frozen)
{
	binder_lock(&proc->inner_lock);
	proc->is_frozen = frozen && !proc->is_dead;
	proc->sync_recv = false;
	proc->async_recv = false;
	binder_unlock(&proc->inner_lock);
}

/* 0: no calls are under way; -EAGAIN there are; BINDER_WOULD_BLOCK: there are,
 * and @thread will be woken when there are not. */
static int settle(struct binder_proc *proc, struct binder_thread *thread, bool wait)
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

/* Whom @thread waited for, counted; NULL if it did not. */
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

void binder_freeze_wake_ilocked(struct binder_proc *proc) NO_TSA
{
	struct binder_thread *thread;

	bl_for_each(thread, &proc->freeze_waiters, freeze_link)
		host_wake(&thread->host, false);
}

/* Freezes @proc, which is marked and counted, and the opens after it.  One that
 * is not quiet loses its mark and ends it: those before it stay frozen, those
 * after it are left as they were. */
static int freeze_on(struct binder_thread *thread, struct binder_proc *proc, bool wait)
{
	struct binder_proc *next;
	int err = 0;

	while (proc && !err) {
		err = settle(proc, thread, wait);
		next = NULL;
		if (err == BINDER_WOULD_BLOCK) {
			BINDER_COVER(FREEZE_WAITED);
			thread->wait = WAIT_FREEZE;
		} else if (err) {
			BINDER_COVER(FREEZE_TAKEN_BACK);
			mark(proc, false);
		} else {
			notify_listeners(proc, true);
			next = next_open(thread->freeze_pid, proc);
		}
		if (next)
			mark(next, true);
		binder_proc_put(proc);
		proc = next;
	}
	return err;
}

static void thaw_all(struct binder_proc *proc, s32 pid)
{
	struct binder_proc *next;

	for (; proc; proc = next) {
		mark(proc, false);
		notify_listeners(proc, false);
		next = next_open(pid, proc);
		binder_proc_put(proc);
	}
}

int binder_freeze_ioctl(struct binder_thread *thread, const struct binder_freeze_info *info)
{
	struct binder_proc *first = next_open((s32)info->pid, NULL);

	if (!first)
		return -EINVAL;
	if (!info->enable) {
		thaw_all(first, (s32)info->pid);
		return 0;
	}
	thread->freeze_pid = (s32)info->pid;
	thread->wait_timeout_ms = info->timeout_ms;
	mark(first, true);
	return freeze_on(thread, first, info->timeout_ms > 0);
}

int binder_freeze_resume(struct binder_thread *thread, bool timed_out, bool interrupted)
{
	struct binder_proc *target = stop_waiting(thread);
	int err = freeze_on(thread, target, !timed_out && !interrupted);

	return err == -EAGAIN && interrupted ? -EINTR : err;
}

int binder_freeze_info(struct binder_frozen_status_info *info)
{
	struct binder_proc *proc, *next;
	bool any = false;
	u32 sync = 0, async = 0;

	for_each_open(proc, next, (s32)info->pid) {
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
