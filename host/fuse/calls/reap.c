// SPDX-License-Identifier: GPL-2.0
/*
 * Removing threads that exited without BINDER_THREAD_EXIT.
 *
 * BINDER_THREAD_EXIT with a null pointer, as libbinder calls it, fails in the kernel, because FUSE
 * copies the argument before it sends the request. A process that starts and ends many threads
 * would accumulate dead ones up to BINDER_MAX_THREADS. They are searched for each time the number
 * of threads has doubled, so that the cost per thread is small, and BINDER_THREAD_EXIT is executed
 * for them.
 */
#include "calls/reap.h"

#include "calls/call.h"
#include "calls/park.h"
#include "clients/client_thread.h"
#include "core.h"

/* With fewer threads, dead ones do no harm. */
#define LEAST 32u
/* Threads listed at a time. */
#define BATCH 64u

static void end_thread(struct binder_proc *proc, s32 tid)
{
	struct binder_thread *thread = binder_thread_find_or_new(proc, tid, &tid);
	char arg[HOST_ARG_SIZE] = { 0 };

	if (!thread)
		return;
	/* fails if a stuck worker is still in its call */
	if (park_begin(binder_thread_host(thread))) {
		binder_thread_host(thread)->exited = true;
		binder_ioctl(thread, BINDER_THREAD_EXIT, arg, false);
		park_end(binder_thread_host(thread));
	}
	call_put_thread(binder_thread_host(thread));
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
			if (!client_thread_exists(tids[i]))
				end_thread(proc, tids[i]);
			first = tids[i] + 1;
		}
	} while (nr == BATCH);
	binder_list_threads(proc, INT32_MAX, tids, 0, &total);
	atomic_store(reap_at, 2 * total);
}
