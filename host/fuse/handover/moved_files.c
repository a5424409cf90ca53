// SPDX-License-Identifier: GPL-2.0
/*
 * Files in transit, the helper process that has them, and what is under way there with the
 * injector: jobs, and what is kept for their threads until they call again. The helper goes on
 * meanwhile: its events wait in the socket.
 */
#include "calls/open_file.h"
#include "fds/fds.h"
#include "handover/moved.h"
#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads listed at a time. */
#define BATCH 64u

static const struct record_field helper_fields[] = {
	RECORD_FD(0, struct helper_state, control),
	RECORD_FD(0, struct helper_state, pidfd),
	RECORD_32(0, struct helper_state, generation),
	RECORD_UNUSED,
};
static const struct record_layout helper_layout = RECORD_LAYOUT(helper_fields);

/* What the record of a file has besides it. */
struct file_place {
	u32 is_closing;
};

static const struct record_field file_fields[] = {
	RECORD_64(0, struct host_file, id),
	RECORD_64(0, struct host_file, closing_ns),
	RECORD_32(0, struct host_file, fd),
	RECORD_32(0, struct host_file, generation),
	RECORD_32(0, struct host_file, uid),
	RECORD_32(1, struct file_place, is_closing),
	RECORD_32(0, struct host_file, overdue),
	RECORD_UNUSED,
};
_Static_assert(offsetof(struct host_file, id) == 0, "by_number_insert()");
static const struct record_layout file_layout = RECORD_LAYOUT(file_fields);

/* The thread of a record, and how long the arrays behind the fields are. */
struct thread_place {
	u64 open_id;
	s32 tid;
	u32 nr_files;		/* u64 numbers of files; then, of what is pending, */
	u32 nr_numbers;		/* s32 numbers in the process, and those to be closed there */
};

static const struct record_field pending_fields[] = {
	RECORD_64(0, struct thread_place, open_id),
	RECORD_64(1, struct pending_fds, cookie),
	RECORD_32(0, struct thread_place, tid),
	RECORD_32(1, struct pending_fds, state),
	RECORD_32(1, struct pending_fds, nr),
	RECORD_32(0, struct thread_place, nr_files),
	RECORD_32(0, struct thread_place, nr_numbers),
	RECORD_32(1, struct pending_fds, nr_close),
	RECORD_32(1, struct pending_fds, error),
	RECORD_32(1, struct pending_fds, result),
	RECORD_32(1, struct pending_fds, installing),
	RECORD_UNUSED,
};
static const struct record_layout pending_layout = RECORD_LAYOUT(pending_fields);

static const struct record_field job_fields[] = {
	RECORD_64(1, struct file_job, id),
	RECORD_64(0, struct thread_place, open_id),
	RECORD_64(1, struct file_job, deadline_ns),
	RECORD_32(1, struct file_job, tid),
	RECORD_32(1, struct file_job, uid),
	RECORD_32(1, struct file_job, tgid),
	RECORD_32(1, struct file_job, nr),
	RECORD_32(1, struct file_job, armed),
	RECORD_32(1, struct file_job, given_up),
};
static const struct record_layout job_layout = RECORD_LAYOUT(job_fields);

/* ---- writing ---- */

static void save_file(struct host_file *file, void *arg)
{
	struct save *save = arg;
	const struct file_place place = { .is_closing = !atomic_load(&file->refs) };

	if (file->saved == daemon_self->handover->attempt)
		return;
	file->saved = daemon_self->handover->attempt;
	record_begin(&save->records, RECORD_FILE, &file_layout, (const void *[]){ file, &place });
	record_end(&save->records);
}

u64 host_state_file_id(const struct host_file *file)
{
	save_file((struct host_file *)file, daemon_self->handover->save);
	return file->id;
}

/* Writes the files first: a record is not inside another. */
static void save_all_files(struct save *save, struct host_file **files, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		save_file(files[i], save);
}

static void put_numbers(struct save *save, struct host_file **files, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		record_put_bytes(&save->records, &files[i]->id, sizeof(files[i]->id));
}

static void save_thread(struct save *save, const struct host_thread *thread,
			const struct pending_fds *state)
{
	const struct thread_place place = {
		.open_id = thread->proc->open_id,
		.tid = thread->tid,
		.nr_files = state->files ? state->nr : 0,
		.nr_numbers = state->numbers ? state->nr : 0,
	};

	save_all_files(save, state->files, place.nr_files);
	record_begin(&save->records, RECORD_PENDING, &pending_layout,
		     (const void *[]){ &place, state });
	put_numbers(save, state->files, place.nr_files);
	record_put_bytes(&save->records, state->numbers, place.nr_numbers * sizeof(s32));
	record_put_bytes(&save->records, state->closes, state->nr_close * sizeof(s32));
	record_end(&save->records);
}

void save_pending(struct save *save, const struct open_file *file)
{
	s32 tids[BATCH];
	s32 first = 0;
	u32 total;
	u32 nr;

	if (atomic_load(&file->released))
		return;
	do {
		nr = binder_list_threads(file->proc, first, tids, BATCH, &total);
		for (u32 i = 0; i < nr; i++) {
			struct binder_thread *thread = binder_thread_find(file->proc, tids[i]);
			const struct host_thread *host = binder_thread_host(thread);

			if (host->fds)
				save_thread(save, host, host->fds);
			first = tids[i] + 1;
		}
	} while (nr == BATCH);
}

/* The thread of a job that was given up may be gone. */
static void see_job(const struct file_job *job, void *arg)
{
	struct save *save = arg;
	const struct thread_place place = {
		.open_id = job->given_up ? 0 : job->thread->proc->open_id };

	save_all_files(save, job->files, job->nr);
	record_begin(&save->records, RECORD_JOB, &job_layout,
		     (const void *[]){ &place, job });
	put_numbers(save, job->files, job->nr);
	record_end(&save->records);
	/* its call has no reply yet */
	if (!job->given_up && !job->armed)
		save_call(save, job->thread, SAVED_JOB);
}

void save_files(struct save *save)
{
	struct helper_state helper;

	fds_visit_closing(save_file, save);
	fds_visit_jobs(see_job, save);
	fds_save_helper(&helper);
	record_begin(&save->records, RECORD_HELPER, &helper_layout, (const void *[]){ &helper });
	record_end(&save->records);
}

/* ---- restoring ---- */

bool restore_helper(struct restore *restore, const struct record *record)
{
	struct helper_state state;
	u32 oldest;
	u32 newest;

	record_get_fields(&restore->records, record, &helper_layout, (void *[]){ &state });
	errno = 0;
	if (state.control >= 0 && fds_take_over(&state))
		return true;
	fds_helper_versions(&oldest, &newest);
	if (errno == EPROTO)
		snprintf(restore->why, sizeof(restore->why), "the helper process does not know "
			 "versions %u to %u of its messages, those of this program", oldest,
			 newest);
	return false;
}

bool restore_file(struct restore *restore, const struct record *record)
{
	struct host_file *file = calloc(1, sizeof(*file));
	struct file_place place;

	record_get_fields(&restore->records, record, &file_layout, (void *[]){ file, &place });
	if (!file)
		return false;
	fds_restore_file(file, place.is_closing);
	if (!place.is_closing)
		by_number_insert(&restore->files, file);
	return true;
}

struct host_file *host_state_file_restore(u64 id)
{
	struct host_file *file = by_number_find(&daemon_self->handover->restore->files, id);

	if (file)
		atomic_fetch_add(&file->refs, 1);
	return file;
}

/* Files that nothing refers to, as their calls were left behind, are closed. */
void restore_close_unused(struct restore *restore)
{
	for (u32 i = 0; i < restore->files.nr; i++) {
		struct host_file *file = restore->files.objects[i];

		if (!atomic_load(&file->refs)) {
			atomic_store(&file->refs, 1);
			fds_put(file);
		}
	}
}

/* The files with the @nr numbers at @ids, with a reference to each; NULL: one is missing. */
static struct host_file **take_files(const char *ids, u32 nr)
{
	struct host_file **files = calloc(nr + 1, sizeof(struct host_file *));

	for (u32 i = 0; files && i < nr; i++) {
		u64 id;

		memcpy(&id, ids + i * sizeof(id), sizeof(id));
		files[i] = host_state_file_restore(id);
		if (!files[i]) {
			free(files);
			return NULL;
		}
	}
	return files;
}

bool restore_pending(struct restore *restore, const struct record *record)
{
	struct pending_fds state = { 0 };
	struct thread_place place;
	struct host_thread *thread;
	struct host_file **files;
	const char *numbers;
	bool ok;

	record_get_fields(&restore->records, record, &pending_layout,
			  (void *[]){ &place, &state });
	if (record->size != place.nr_files * sizeof(u64) +
			    ((u64)place.nr_numbers + state.nr_close) * sizeof(s32) ||
	    (place.nr_files && place.nr_files != state.nr) ||
	    (place.nr_numbers && place.nr_numbers != state.nr))
		return false;
	thread = restore_find_thread(restore, place.open_id, place.tid);
	files = take_files(record->bytes, place.nr_files);
	if (!thread || !files)
		return false;
	numbers = record->bytes + place.nr_files * sizeof(u64);
	state.files = place.nr_files ? files : NULL;
	state.numbers = place.nr_numbers ? (s32 *)numbers : NULL;
	state.closes = (s32 *)(numbers + place.nr_numbers * sizeof(s32));
	ok = fds_restore_pending(thread, &state);
	free(files);
	return ok;
}

bool restore_job(struct restore *restore, const struct record *record)
{
	struct thread_place place;
	struct file_job job = { 0 };

	record_get_fields(&restore->records, record, &job_layout, (void *[]){ &place, &job });
	if (record->size != job.nr * sizeof(u64))
		return false;
	job.files = take_files(record->bytes, job.nr);
	if (!job.files)
		return false;
	/* none: the job was given up, or its open has ended */
	if (!job.given_up)
		job.thread = restore_find_thread(restore, place.open_id, job.tid);
	if (job.thread)
		binder_thread_get(binder_thread_of_host(job.thread));
	return fds_restore_job(&job);
}
