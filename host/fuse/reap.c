// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that ended without saying so.
 *
 * BINDER_THREAD_EXIT with a null pointer, as the common client library makes it, fails in the
 * kernel (it copies the argument before it asks us), so a process that starts and ends many
 * threads would collect dead ones up to the engine's bound. They are looked for each time that the
 * number of threads has doubled, which costs little for each thread, and are made to exit as if
 * they had said so.
 */
#include "reap.h"

#include "caller.h"
#include "core.h"
#include "park.h"

/* Below so many threads the dead do no harm. */
#define LEAST 32u
/* So many are looked at between two takings of the lock. */
#define BATCH 64u

static int compare_tid(const void *key, const struct bt_node *node)
{
	s32 tid = *(const s32 *)key;
	s32 other = bt_entry(node, struct binder_thread, by_tid)->tid;

	return tid < other ? -1 : tid > other;
}

/* Up to BATCH thread numbers of @proc from @first on; *@total: how many threads it has. */
static u32 list_threads(struct binder_proc *proc, s32 first, s32 *tids, u32 *total)
{
	struct bt_node *node;
	u32 nr = 0;

	binder_lock(&proc->inner_lock);
	*total = proc->nr_threads;
	for (node = bt_lower_bound(&proc->threads, &first, compare_tid); node && nr < BATCH;
	     node = bt_next(node))
		tids[nr++] = bt_entry(node, struct binder_thread, by_tid)->tid;
	binder_unlock(&proc->inner_lock);
	return nr;
}

static void end_thread(struct binder_proc *proc, s32 tid)
{
	struct binder_thread *thread = binder_thread_find_or_new(proc, tid, &tid);
	char arg[HOST_ARG_SIZE] = { 0 };

	if (!thread)
		return;
	/* a worker that is stuck may still be in a call of it */
	if (park_begin(&thread->host)) {
		binder_ioctl(thread, BINDER_THREAD_EXIT, arg, false);
		park_end(&thread->host);
	}
	binder_thread_put(thread);
}

void reap_ended_threads(struct binder_proc *proc, atomic_uint *reap_at)
{
	s32 tids[BATCH];
	s32 first = 0;
	u32 total;
	u32 nr;

	list_threads(proc, INT32_MAX, tids, &total);
	if (total < LEAST || total < atomic_load(reap_at))
		return;
	do {
		nr = list_threads(proc, first, tids, &total);
		for (u32 i = 0; i < nr; i++) {
			if (!caller_exists(tids[i]))
				end_thread(proc, tids[i]);
			first = tids[i] + 1;
		}
	} while (nr == BATCH);
	list_threads(proc, INT32_MAX, tids, &total);
	atomic_store(reap_at, 2 * total);
}
