// SPDX-License-Identifier: GPL-2.0
/*
 * Work is queued either for one thread (a reply, a completion, a call back into a
 * waiting thread) or for the process. For the process, the thread that began to wait
 * last is selected, because its caches are warm, and the work goes to its own list, so
 * that no other thread can take it. If no thread waits, the work is queued in the list of
 * the process until a thread reads or polls.
 */
#include "entities/thread.h"

#include "common/limits.h"

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

struct binder_thread *binder_thread_find(struct binder_proc *proc, s32 tid)
{
	struct bt_node *found;

	binder_lock(&proc->inner_lock);
	found = bt_find(&proc->threads, &tid, compare_tid);
	binder_unlock(&proc->inner_lock);
	return found ? bt_entry(found, struct binder_thread, by_tid) : NULL;
}

static struct binder_thread *find_and_get(struct binder_proc *proc, s32 tid)
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

void binder_thread_init(struct binder_thread *thread, struct binder_proc *proc)
{
	thread->proc = proc;
	bt_init(&thread->by_tid);
	bl_init(&thread->waiting_link);
	bl_init(&thread->todo);
	bl_init(&thread->freeze_link);
	binder_work_init(&thread->return_error.work, WORK_ERROR);
	binder_work_init(&thread->reply_error.work, WORK_ERROR);
	thread->return_error.cmd = BR_OK;
	thread->reply_error.cmd = BR_OK;
	thread->ee.command = BR_OK;
}

bool binder_thread_insert_ilocked(struct binder_proc *proc, struct binder_thread *thread)
{
	binder_assert_held(&proc->inner_lock);
	if (proc->nr_threads >= BINDER_MAX_THREADS ||
	    bt_insert(&proc->threads, &thread->by_tid, compare_threads))
		return false;
	proc->nr_threads++;
	return true;
}

static struct binder_thread *new_thread(struct binder_proc *proc, s32 tid, const void *opener)
{
	struct binder_thread *thread = host_alloc(&proc->host, sizeof(*thread));

	if (!thread)
		return NULL;
	binder_thread_init(thread, proc);
	thread->tid = tid;
	host_atomic_set(&thread->refs, 2); /* the tree's and the caller's */
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
	struct binder_thread *thread = find_and_get(proc, tid);
	bool inserted;

	if (thread)
		return thread;
	thread = new_thread(proc, tid, opener);
	if (!thread)
		return NULL;
	binder_lock(&proc->inner_lock);
	inserted = binder_thread_insert_ilocked(proc, thread);
	binder_unlock(&proc->inner_lock);
	if (inserted) {
		binder_stats_created(STAT_THREAD);
		return thread;
	}
	free_thread(thread);
	return find_and_get(proc, tid);
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

bool binder_thread_put_unless_last(struct binder_thread *thread)
{
	if (host_atomic_add_return(&thread->refs, -1))
		return true;
	host_atomic_set(&thread->refs, 1); /* no other thread can find it any more */
	return false;
}

void binder_thread_set_need_return(struct binder_thread *thread, bool need)
{
	binder_lock(&thread->proc->inner_lock);
	BINDER_WRITE_ONCE(thread->need_return, need);
	binder_unlock(&thread->proc->inner_lock);
}

struct binder_thread *binder_thread_find_from_ilocked(struct binder_proc *proc, s32 tid)
{
	struct bt_node *found;

	binder_assert_held(&proc->inner_lock);
	found = bt_lower_bound(&proc->threads, &tid, compare_tid);
	return found ? bt_entry(found, struct binder_thread, by_tid) : NULL;
}

u32 binder_list_threads(struct binder_proc *proc, s32 first, s32 *tids, u32 max, u32 *total)
{
	struct binder_thread *thread;
	struct bt_node *n;
	u32 nr = 0;

	binder_lock(&proc->inner_lock);
	*total = proc->nr_threads;
	thread = binder_thread_find_from_ilocked(proc, first);
	for (n = thread ? &thread->by_tid : NULL; n && nr < max; n = bt_next(n))
		tids[nr++] = bt_entry(n, struct binder_thread, by_tid)->tid;
	binder_unlock(&proc->inner_lock);
	return nr;
}

void binder_proc_queue_ilocked(struct binder_proc *proc, struct binder_work *work)
{
	binder_assert_held(&proc->inner_lock);
	bl_add_tail(&proc->todo, &work->link);
	binder_wake_proc_ilocked(proc);
}

void binder_thread_queue_notice_ilocked(struct binder_thread *thread, struct binder_work *work)
{
	binder_assert_held(&thread->proc->inner_lock);
	if (thread->looper & (LOOPER_ENTERED | LOOPER_REGISTERED))
		binder_thread_queue_ilocked(thread, work);
	else
		binder_proc_queue_ilocked(thread->proc, work);
}

void binder_wake_ilocked(struct binder_proc *proc, struct binder_thread *thread, bool sync)
{
	struct bt_node *n;

	binder_assert_held(&proc->inner_lock);
	if (thread) {
		host_wake(&thread->host, sync);
		if (thread->looper & LOOPER_POLL)
			host_wake_poll(&proc->host, &thread->host);
		return;
	}
	/* No thread waits in a read; one that polls may read. */
	bt_for_each(n, &proc->threads) {
		thread = bt_entry(n, struct binder_thread, by_tid);
		binder_assert_held(&thread->proc->inner_lock);
		if (thread->looper & LOOPER_POLL && binder_thread_is_available_ilocked(thread))
			host_wake_poll(&proc->host, &thread->host);
	}
}

struct binder_thread *binder_select_thread_ilocked(struct binder_proc *proc)
{
	struct binder_thread *thread;

	binder_assert_held(&proc->inner_lock);
	thread = bl_first_entry(&proc->waiting_threads, struct binder_thread, waiting_link);
	if (thread)
		bl_del(&thread->waiting_link);
	return thread;
}

void binder_wake_proc_ilocked(struct binder_proc *proc)
{
	binder_assert_held(&proc->inner_lock);
	binder_wake_ilocked(proc, binder_select_thread_ilocked(proc), false);
}

void binder_wake_for_todo(struct binder_proc *proc)
{
	binder_lock(&proc->inner_lock);
	if (!bl_empty(&proc->todo))
		binder_wake_proc_ilocked(proc);
	binder_unlock(&proc->inner_lock);
}
