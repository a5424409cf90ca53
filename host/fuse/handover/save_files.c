// SPDX-License-Identifier: GPL-2.0
/*
 * Writes what is under way with the injector, in the helper process: jobs, and what is kept for
 * their threads until they call again.
 */
#include "calls/open_file.h"
#include "core.h"
#include "fds/fds.h"
#include "handover/private.h"
#include "session/handles.h"

#include <stdlib.h>
#include <string.h>

/* Threads listed at a time. */
#define BATCH 64u

static void save_pending(struct save *save, const struct host_thread *thread,
			 const struct pending_fds *state)
{
	u32 nr_files = state->files ? state->nr : 0;
	u32 nr_numbers = state->numbers ? state->nr : 0;
	size_t size = nr_files * sizeof(u64) + (nr_numbers + state->nr_close) * sizeof(s32);
	struct saved_pending saved = {
		.open_id = thread->proc->open_id,
		.cookie = state->cookie,
		.tid = thread->tid,
		.state = state->state,
		.nr = state->nr,
		.nr_files = nr_files,
		.nr_numbers = nr_numbers,
		.nr_close = state->nr_close,
		.error = state->error,
		.result = state->result,
		.installing = state->installing,
	};
	char *tail = malloc(size + 1);

	save->records.failed |= !tail;
	if (!tail)
		return;
	for (u32 i = 0; i < nr_files; i++) {
		memcpy(tail + i * sizeof(u64), &state->files[i]->id, sizeof(u64));
		save_file(save, state->files[i]);
	}
	if (nr_numbers)
		memcpy(tail + nr_files * sizeof(u64), state->numbers, nr_numbers * sizeof(s32));
	if (state->nr_close)
		memcpy(tail + nr_files * sizeof(u64) + nr_numbers * sizeof(s32), state->closes,
		       state->nr_close * sizeof(s32));
	record_put(&save->records, RECORD_PENDING, &saved, sizeof(saved), tail, size);
	free(tail);
}

static void save_threads(struct save *save, struct binder_proc *proc)
{
	s32 tids[BATCH];
	s32 first = 0;
	u32 total;
	u32 nr;

	do {
		nr = binder_list_threads(proc, first, tids, BATCH, &total);
		for (u32 i = 0; i < nr; i++) {
			struct binder_thread *thread = binder_thread_find(proc, tids[i]);
			const struct host_thread *host = binder_thread_host(thread);

			if (host->fds)
				save_pending(save, host, host->fds);
			first = tids[i] + 1;
		}
	} while (nr == BATCH);
}

static void see_handle(uint64_t number, void *object, void *save)
{
	const struct open_file *file = object;

	if (handle_is_device(number) && !atomic_load(&file->released))
		save_threads(save, file->proc);
}

/* The thread of a job that was given up may be gone. */
static void see_job(const struct file_job *job, void *arg)
{
	struct save *save = arg;
	struct saved_job saved = {
		.id = job->id,
		.open_id = job->given_up ? 0 : job->thread->proc->open_id,
		.deadline_ns = job->deadline_ns,
		.tid = job->tid,
		.uid = job->uid,
		.tgid = job->tgid,
		.nr_files = job->nr,
		.armed = job->armed,
		.given_up = job->given_up,
	};
	u64 *ids = malloc((job->nr + 1) * sizeof(*ids));

	save->records.failed |= !ids;
	if (!ids)
		return;
	for (u32 i = 0; i < job->nr; i++) {
		ids[i] = job->files[i]->id;
		save_file(save, job->files[i]);
	}
	record_put(&save->records, RECORD_JOB, &saved, sizeof(saved), ids,
		   job->nr * sizeof(*ids));
	free(ids);
	/* its call has no reply yet */
	if (!job->given_up && !job->armed)
		save_call(save, job->thread, SAVED_JOB);
}

void save_files(struct save *save)
{
	handles_visit(see_handle, save);
	fds_visit_jobs(see_job, save);
}
