// SPDX-License-Identifier: GPL-2.0
/* One call: an ioctl on a device, from its request to its reply. */
#include "calls/client_call.h"

#include "base/gate.h"
#include "calls/affinity.h"
#include "calls/open_file.h"
#include "calls/watched_events.h"
#include "clients/client_thread.h"
#include "core.h"
#include "session/expire.h"
#include "session/session.h"
#include "workers/worker.h"

bool call_begin(struct host_thread *thread, const struct request *request)
{
	const struct fuse_ioctl_in *in = request->body;

	if (!park_begin(thread))
		return false;
	affinity_note_caller(thread);
	thread->request.unique = request->head->unique;
	thread->request.euid = request->head->uid;
	thread->request.stamp = expire_stamp();
	thread->request.cmd = in->cmd;
	thread->request.out_size = in->out_size;
	thread->request.address = in->arg;
	__builtin_memcpy(thread->request.arg, in + 1, in->in_size);
	__builtin_memset(thread->request.arg + in->in_size, 0, HOST_ARG_SIZE - in->in_size);
	return true;
}

enum park_result call_park(struct host_thread *thread)
{
	u32 timeout_ms = binder_thread_wait_timeout_ms(binder_thread_of_host(thread));

	if (timeout_ms && !thread->park.deadline_ns) {
		thread->park.deadline_ns = host_now_ns() + timeout_ms * 1000000ull;
		watch_deadline(thread->park.deadline_ns);
	}
	return park_wait(thread);
}

static void call_release_thread(struct work *work)
{
	struct host_thread *thread =
		(void *)((char *)work - offsetof(struct host_thread, woken.release));

	binder_thread_put(binder_thread_of_host(thread));
}

void call_put_thread(struct host_thread *thread)
{
	if (binder_thread_put_unless_last(binder_thread_of_host(thread)))
		return;
	thread->woken.release.run = call_release_thread;
	worker_add_work(&thread->woken.release);
}

void call_reply(struct host_thread *thread, int result)
{
	struct open_file *file = thread->proc->file;
	u64 unique = thread->request.unique;
	u32 out_size = thread->request.out_size;
	char data[HOST_ARG_SIZE];

	trace_ioctl_done(thread->tid, result);
	/* a failed call returns no data, except how much BINDER_WRITE_READ has consumed */
	if (result < 0 && ABI_IOC_NR(thread->request.cmd) != ABI_IOC_NR(BINDER_WRITE_READ))
		out_size = 0;
	if (thread->park.deadline_ns)
		watch_deadline_over();
	__builtin_memcpy(data, thread->request.arg, sizeof(data));
	park_end(thread);
	session_reply_ioctl(unique, result, data, out_size);
	call_put_thread(thread);
	open_file_leave(file);
}

void call_end_open_file(struct open_file *file)
{
	struct host_thread *thread;

	if (!open_file_end(file))
		return;
	while (open_file_has_calls(file) && (thread = park_claim_of(file->host)))
		call_reply(thread, -EBADF);
	open_file_leave(file);
}

void call_end_open(u64 open_id)
{
	struct open_file *file = open_file_find(open_id);

	if (!file)
		return;
	call_end_open_file(file);
	open_file_leave(file);
}

/* ---- removing threads that exited without BINDER_THREAD_EXIT ---- */

/*
 * BINDER_THREAD_EXIT with a null pointer, as libbinder calls it, fails in the kernel, because FUSE
 * copies the argument before it sends the request. A process that starts and ends many threads
 * would accumulate dead ones up to BINDER_MAX_THREADS. They are searched for each time the number
 * of threads has doubled, so that the cost per thread is small, and BINDER_THREAD_EXIT is executed
 * for them.
 */

/* With fewer threads, dead ones do no harm. */
#define REAP_LEAST 32u
/* Threads listed at a time. */
#define REAP_BATCH 64u

static void end_thread(struct binder_proc *proc, s32 tid)
{
	struct binder_thread *thread = binder_thread_find_or_new(proc, tid, &tid);
	char arg[HOST_ARG_SIZE] = { 0 };

	if (!thread)
		return;
	/* fails if a stuck worker is still in its call */
	if (park_begin(binder_thread_host(thread))) {
		binder_thread_host(thread)->exited = true;
		gate_begin_whole();
		binder_ioctl(thread, BINDER_THREAD_EXIT, arg, false);
		gate_end_whole();
		park_end(binder_thread_host(thread));
	}
	call_put_thread(binder_thread_host(thread));
}

void call_reap_threads(struct binder_proc *proc, atomic_uint *reap_at)
{
	s32 tids[REAP_BATCH];
	s32 first = 0;
	u32 total;
	u32 nr;

	binder_list_threads(proc, INT32_MAX, tids, 0, &total);
	if (total < REAP_LEAST || total < atomic_load(reap_at))
		return;
	do {
		nr = binder_list_threads(proc, first, tids, REAP_BATCH, &total);
		for (u32 i = 0; i < nr; i++) {
			if (!client_thread_exists(tids[i]))
				end_thread(proc, tids[i]);
			first = tids[i] + 1;
		}
	} while (nr == REAP_BATCH);
	binder_list_threads(proc, INT32_MAX, tids, 0, &total);
	atomic_store(reap_at, 2 * total);
}
