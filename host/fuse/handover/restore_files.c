// SPDX-License-Identifier: GPL-2.0
/*
 * Restores what is under way with the injector. The helper process goes on with it meanwhile: its
 * events wait in the socket.
 */
#include "core.h"
#include "fds/fds.h"
#include "handover/private.h"

#include <stdlib.h>
#include <string.h>

/* The files with the @nr numbers at @ids, with a reference to each; NULL: one is missing. */
static struct host_file **take_files(const struct restore *restore, const char *ids, u32 nr)
{
	struct host_file **files = calloc(nr + 1, sizeof(struct host_file *));

	for (u32 i = 0; files && i < nr; i++) {
		u64 id;

		memcpy(&id, ids + i * sizeof(id), sizeof(id));
		files[i] = restore_find_file(restore, id);
		if (!files[i]) {
			free(files);
			return NULL;
		}
		atomic_fetch_add(&files[i]->refs, 1);
	}
	return files;
}

bool restore_pending(struct restore *restore, const struct record *record)
{
	struct saved_pending saved;
	struct host_thread *thread;
	struct pending_fds state;
	struct host_file **files;
	const char *numbers;
	bool ok;

	record_get(record, &saved, sizeof(saved));
	if (record->size != saved.nr_files * sizeof(u64) +
			    ((u64)saved.nr_numbers + saved.nr_close) * sizeof(s32) ||
	    (saved.nr_files && saved.nr_files != saved.nr) ||
	    (saved.nr_numbers && saved.nr_numbers != saved.nr))
		return false;
	thread = restore_find_thread(restore, saved.open_id, saved.tid);
	files = take_files(restore, record->bytes, saved.nr_files);
	if (!thread || !files)
		return false;
	numbers = record->bytes + saved.nr_files * sizeof(u64);
	state = (struct pending_fds){
		.state = saved.state,
		.cookie = saved.cookie,
		.nr = saved.nr,
		.files = saved.nr_files ? files : NULL,
		.numbers = saved.nr_numbers ? (s32 *)numbers : NULL,
		.error = saved.error,
		.nr_close = saved.nr_close,
		.closes = (s32 *)(numbers + saved.nr_numbers * sizeof(s32)),
		.result = saved.result,
		.installing = saved.installing,
	};
	ok = fds_restore_pending(thread, &state);
	free(files);
	return ok;
}

bool restore_job(struct restore *restore, const struct record *record)
{
	struct saved_job saved;
	struct file_job job;

	record_get(record, &saved, sizeof(saved));
	if (record->size != saved.nr_files * sizeof(u64))
		return false;
	job = (struct file_job){
		.uid = saved.uid,
		.tid = saved.tid,
		.tgid = saved.tgid,
		.nr = saved.nr_files,
		.files = take_files(restore, record->bytes, saved.nr_files),
		.id = saved.id,
		.deadline_ns = saved.deadline_ns,
		.armed = saved.armed,
	};
	if (!job.files)
		return false;
	/* none: the job was given up, or its open has ended */
	if (!saved.given_up)
		job.thread = restore_find_thread(restore, saved.open_id, saved.tid);
	if (job.thread)
		binder_thread_get(binder_thread_of_host(job.thread));
	return fds_restore_job(&job);
}
