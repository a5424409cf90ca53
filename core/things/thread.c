// SPDX-License-Identifier: GPL-2.0
/*
 * Who does the work?  A piece of work is meant either for one thread (an answer,
 * a completion, a call back into a thread that waits) or for the process.  For
 * the process, a thread that waits in the loop is picked, last come first (its
 * caches are warm), and gets the work in its own list, so that nobody else can
 * take it; if none waits, the work stands in the process's list until some
 * thread comes or polls.
 */
#include "things/thread.h"

#include "things/context.h"
#include "common/limits.h"
#include "common/cover.h"
#include "things/proc.h"
#include "calls/transaction.h"

static int compare_tid(const void *key, const struct bt_node *node)
{
	s32 tid = *(const s32 *)key;
	s32 other = bt_entry(node, struct binder_thread, by_tid)->tid;

	return tid < other ? -1 : tid > other;
}

static int compare_threads(const struct bt_node *a, const struct bt_node *b)
{
	return compare_tid(&bt_entry(a, struct binder_thread, by_tid)->tid, b);
}

static struct binder_thread *find_thread(struct binder_proc *proc, s32 tid)
{
	struct binder_thread *thread = NULL;
	struct bt_node *found;

	binder_lock(&proc->inner_lock);
	found = bt_find(&proc->threads, &tid, compare_tid);
	if (found) {
		thread = bt_entry(found, struct binder_thread, by_tid);
		binder_thread_get(thread);
	}
	binder_unlock(&proc->inner_lock);
	return thread;
}

struct binder_thread *binder_thread_find(struct binder_proc *proc, s32 tid)
{
	struct bt_node *found;

	binder_lock(&proc->inner_lock);
	found = bt_find(&proc->threads, &tid, compare_tid);
	binder_unlock(&proc->inner_lock);
	return found ? bt_entry(found, struct binder_thread, by_tid) : NULL;
}

static struct binder_thread *new_thread(struct binder_proc *proc, s32 tid, const void *opener)
{
	struct binder_thread *thread = host_alloc(sizeof(*thread));

	if (!thread)
		return NULL;
	thread->proc = proc;
	thread->tid = tid;
	host_atomic_set(&thread->refs, 2); /* the tree's and the caller's */
	bt_init(&thread->by_tid);
	bl_init(&thread->waiting_link);
	bl_init(&thread->todo);
	bl_init(&thread->freeze_link);
	binder_work_init(&thread->return_error.work, WORK_ERROR);
	binder_work_init(&thread->reply_error.work, WORK_ERROR);
	thread->return_error.cmd = BR_OK;
	thread->reply_error.cmd = BR_OK;
	thread->ee.command = BR_OK;
	thread->need_return = true;
	if (host_thread_init(&thread->host, &proc->host, opener)) {
		host_free(thread);
		return NULL;
	}
	binder_proc_get(proc);
	return thread;
}

static void free_thread(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;

	host_thread_destroy(&thread->host);
	host_free(thread->spare);
	host_free(thread->spare_transaction);
	host_free(thread);
	binder_proc_put(proc);
}

struct binder_thread *binder_thread_find_or_new(struct binder_proc *proc, s32 tid,
						const void *opener)
{
	struct binder_thread *thread = find_thread(proc, tid);
	struct bt_node *there = NULL;
	bool full;

	if (thread)
		return thread;
	thread = new_thread(proc, tid, opener);
	if (!thread)
		return NULL;
	binder_lock(&proc->inner_lock);
	full = proc->nr_threads >= BINDER_MAX_THREADS;
	if (!full)
		there = bt_insert(&proc->threads, &thread->by_tid, compare_threads);
	if (!full && !there)
		proc->nr_threads++;
	binder_unlock(&proc->inner_lock);
	if (!full && !there) {
		binder_stats_created(STAT_THREAD);
		return thread;
	}
	free_thread(thread);
	return full ? NULL : find_thread(proc, tid);
}

void binder_thread_get(struct binder_thread *thread)
{
	host_atomic_add(&thread->refs, 1);
}

void binder_thread_put(struct binder_thread *thread)
{
	if (!host_atomic_add_return(&thread->refs, -1))
		free_thread(thread);
}

u32 binder_list_threads(struct binder_proc *proc, s32 first, s32 *tids, u32 max, u32 *total)
{
	struct bt_node *n;
	u32 nr = 0;

	binder_lock(&proc->inner_lock);
	*total = proc->nr_threads;
	for (n = bt_lower_bound(&proc->threads, &first, compare_tid); n && nr < max; n = bt_next(n))
		tids[nr++] = bt_entry(n, struct binder_thread, by_tid)->tid;
	binder_unlock(&proc->inner_lock);
	return nr;
}

bool binder_thread_is_available_ilocked(const struct binder_thread *thread)
{
	return !thread->stack && bl_empty(&thread->todo);
}

bool binder_thread_has_work_ilocked(const struct binder_thread *thread, bool proc_work) NO_TSA
{
	return thread->process_todo || thread->need_return ||
	       (proc_work && !bl_empty(&thread->proc->todo));
}

void binder_thread_queue_deferred_ilocked(struct binder_thread *thread, struct binder_work *work)
{
	bl_add_tail(&thread->todo, &work->link);
}

void binder_thread_queue_ilocked(struct binder_thread *thread, struct binder_work *work)
{
	bl_add_tail(&thread->todo, &work->link);
	thread->process_todo = true;
}

void binder_thread_queue_notice_ilocked(struct binder_thread *thread,
					struct binder_work *work) NO_TSA
{
	if (thread->looper & (LOOPER_ENTERED | LOOPER_REGISTERED)) {
		binder_thread_queue_ilocked(thread, work);
		return;
	}
	bl_add_tail(&thread->proc->todo, &work->link);
	binder_wake_proc_ilocked(thread->proc);
}

void binder_wake_ilocked(struct binder_proc *proc, struct binder_thread *thread, bool sync) NO_TSA
{
	struct bt_node *n;

	if (thread) {
		host_wake(&thread->host, sync);
		if (thread->looper & LOOPER_POLL)
			host_wake_poll(&proc->host, &thread->host);
		return;
	}
	/* Nobody waits in a read.  Whoever polls may come and read. */
	bt_for_each(n, &proc->threads) {
		thread = bt_entry(n, struct binder_thread, by_tid);
		if (thread->looper & LOOPER_POLL && binder_thread_is_available_ilocked(thread))
			host_wake_poll(&proc->host, &thread->host);
	}
}

struct binder_thread *binder_select_thread_ilocked(struct binder_proc *proc) NO_TSA
{
	struct binder_thread *thread =
		bl_first_entry(&proc->waiting_threads, struct binder_thread, waiting_link);

	if (thread)
		bl_del(&thread->waiting_link);
	return thread;
}

void binder_wake_proc_ilocked(struct binder_proc *proc)
{
	binder_wake_ilocked(proc, binder_select_thread_ilocked(proc), false);
}

/* A call that this thread was to answer is nobody's to answer now. */
static void let_go_ilocked(struct binder_transaction *t) NO_TSA
{
	binder_transaction_detach_buffer_ilocked(t);
	binder_transaction_set_in(t, NULL);
	binder_transaction_set_for(t, NULL);
}

/* Lets go of every transaction on the stack.  Returns the innermost one if it
 * is a call that this thread was to answer. */
static struct binder_transaction *unwind_ilocked(struct binder_thread *thread, u32 *nr) NO_TSA
{
	struct binder_transaction *t = thread->stack, *sent = NULL, *next;
	struct binder_transaction *unanswered =
		t && binder_transaction_is_for(t, thread) ? t : NULL;

	while (t) {
		++*nr;
		if (binder_transaction_is_for(t, thread)) {
			BINDER_COVER(THREAD_ENDS_SERVING);
			let_go_ilocked(t);
			t = t->to_parent;
		} else {
			t->next_orphan = sent;
			sent = t;
			t = t->from_parent;
		}
	}
	/* Only now: a call without a sender may be freed at once, and with it
	 * what it was made for, further up the stack. */
	for (t = sent; t; t = next) {
		BINDER_COVER(THREAD_ENDS_IN_CALL);
		next = t->next_orphan;
		binder_lock(&t->lock);
		t->from = NULL;
		binder_unlock(&t->lock);
	}
	thread->stack = NULL;
	return unanswered;
}

u32 binder_thread_release(struct binder_proc *proc, struct binder_thread *thread)
{
	static const struct binder_result died = { .ret = BR_DEAD_REPLY, .err = -ESRCH,
						   .why = "the thread that served it ended" };
	struct binder_transaction *unanswered;
	struct bl_list todo;
	u32 nr = 0;

	bl_init(&todo);
	binder_lock(&proc->inner_lock);
	if (thread->is_dead) {
		binder_unlock(&proc->inner_lock);
		return 0;
	}
	thread->is_dead = true;
	bt_erase(&proc->threads, &thread->by_tid);
	proc->nr_threads--;
	bl_del(&thread->waiting_link);
	unanswered = unwind_ilocked(thread, &nr);
	bl_splice_tail(&todo, &thread->todo);
	thread->process_todo = false;
	/* A poll that watches through this thread has nothing left to see. */
	if (thread->looper & LOOPER_POLL)
		host_wake_poll(&proc->host, &thread->host);
	binder_unlock(&proc->inner_lock);

	if (unanswered)
		binder_transaction_fail(unanswered, &died, false);
	binder_release_works(proc, &todo);
	binder_stats_deleted(STAT_THREAD);
	binder_thread_put(thread);
	return nr;
}
