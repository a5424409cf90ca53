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

static void end_thread(struct binder_proc *proc, s32 tid)
{
	struct binder_thread *thread = binder_thread_find_or_new(proc, tid, &tid);
	char arg[HOST_ARG_SIZE] = { 0 };

	if (!thread)
		return;
	/* a worker that is stuck may still be in a call of it */
	if (park_begin(binder_thread_host(thread))) {
		binder_ioctl(thread, BINDER_THREAD_EXIT, arg, false);
		park_end(binder_thread_host(thread));
	}
	binder_thread_put(thread);
}

void reap_ended_threads(struct binder_proc *proc, atomic_uint *reap_at)
{
	s32 tids[BATCH];
	s32 first = 0;
	u32 total;
	u32 nr;

	binder_list_threads(proc, INT32_MAX, tids, 0, &total);
	if (total < LEAST || total < atomic_load(reap_at))
		return;
	do {
		nr = binder_list_threads(proc, first, tids, BATCH, &total);
		for (u32 i = 0; i < nr; i++) {
			if (!caller_exists(tids[i]))
				end_thread(proc, tids[i]);
			first = tids[i] + 1;
		}
	} while (nr == BATCH);
	binder_list_threads(proc, INT32_MAX, tids, 0, &total);
	atomic_store(reap_at, 2 * total);
}
