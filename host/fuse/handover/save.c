// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the state of the daemon, while all threads rest.
 *
 * What the engine has is its own stream (core.h). It names opens and files by their numbers, which
 * is when those that nothing else leads to are found: an open that the kernel has released, but
 * that a call which is left behind still uses.
 */
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/stuck_workers.h"
#include "core.h"
#include "events/stage_records.h"
#include "fds/fds.h"
#include "handover/private.h"
#include "handover/saved.h"
#include "names/layout.h"
#include "names/tree.h"
#include "queues/backlog.h"
#include "session/expire.h"
#include "session/handles.h"
#include "state.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

/* ---- opens ---- */

static void describe_owner(struct saved_open *saved, const struct host_proc *proc)
{
	saved->pid_ns = proc->pid_ns;
	saved->poll_handle = atomic_load(&proc->poll_handle);
	saved->poll_armed = atomic_load(&proc->poll_armed);
	saved->pid = proc->pid;
	saved->opener = proc->opener;
	saved->euid = proc->euid;
	saved->charged_uid = proc->charged_uid;
	saved->may_raise = proc->may_raise;
	saved->nr_levels = proc->nr_levels;
	memcpy(saved->pids, proc->pids, sizeof(saved->pids));
	saved->nr_id_ranges = proc->id_ranges ? proc->nr_id_ranges : 0;
	saved->bound = proc->bound;
	saved->is_shared = atomic_load(&proc->is_shared);
	saved->gone = atomic_load(&proc->gone);
}

static void describe_map(struct save *save, struct saved_open *saved, const struct host_map *map)
{
	saved->base = map->base;
	saved->retry_ns = map->retry_ns;
	saved->backing_id = map->backing_id;
	for (size_t i = 0; i < HOST_MAP_PAGES / 64; i++) {
		saved->charged[i] = atomic_load(&map->charged[i]);
		saved->provided[i] = atomic_load(&map->provided[i]);
	}
	saved->buffer = record_put_fd(&save->records, map->file);
	saved->client_memory = record_put_fd(&save->records, map->client_memory);
}

static void put_open(struct save *save, const struct saved_open *saved,
		     const struct host_proc *proc)
{
	size_t ranges = saved->nr_id_ranges * sizeof(struct host_id_range);
	size_t context = proc && proc->context ? strlen(proc->context) + 1 : 0;
	char *tail = ranges + context ? malloc(ranges + context) : NULL;

	if (tail && ranges)
		memcpy(tail, proc->id_ranges, ranges);
	if (tail && context)
		memcpy(tail + ranges, proc->context, context);
	save->records.failed |= !tail && ranges + context;
	if (!save->records.failed)
		record_put(&save->records, RECORD_OPEN, saved, sizeof(*saved), tail,
			   ranges + context);
	free(tail);
}

void save_open(struct save *save, struct open_file *file)
{
	struct saved_open saved = {
		.open_id = file->open_id,
		.nodeid = file->nodeid,
		.handle = file->handle,
		.uid = file->uid,
		.nonblock = file->nonblock,
		.ended = atomic_load(&file->ended),
		.released = atomic_load(&file->released),
		.orphan = atomic_load(&file->orphan),
		.reap_at = atomic_load(&file->reap_at),
		.backing_id = -1,
	};

	if (!saved.released) {
		describe_owner(&saved, file->host);
		describe_map(save, &saved, binder_proc_map(file->proc));
		saved.pidfd = record_put_fd(&save->records, file->host->pidfd);
		save->nr_opens++;
	}
	put_open(save, &saved, saved.released ? NULL : file->host);
}

static void see_handle(uint64_t number, void *object, void *save)
{
	if (handle_is_device(number))
		save_open(save, object);
}

u64 host_state_proc_id(const struct host_proc *proc)
{
	struct open_file *file = proc->file;

	if (!file->handle && file->saved != daemon_self->handover->attempt) {
		file->saved = daemon_self->handover->attempt;
		save_open(daemon_self->handover->save, file);
	}
	return proc->open_id;
}

/* ---- files ---- */

void save_file(struct save *save, struct host_file *file)
{
	struct saved_file saved = {
		.id = file->id,
		.closing_ns = file->closing_ns,
		.fd = file->fd,
		.generation = file->generation,
		.uid = file->uid,
		.is_closing = !atomic_load(&file->refs),
		.overdue = file->overdue,
	};

	if (file->saved == daemon_self->handover->attempt)
		return;
	file->saved = daemon_self->handover->attempt;
	save->nr_files++;
	record_put(&save->records, RECORD_FILE, &saved, sizeof(saved), NULL, 0);
}

static void see_closing(struct host_file *file, void *save)
{
	save_file(save, file);
}

u64 host_state_file_id(const struct host_file *file)
{
	save_file(daemon_self->handover->save, (struct host_file *)file);
	return file->id;
}

static void save_helper(struct save *save)
{
	struct helper_state state;
	struct saved_helper saved;

	fds_save_helper(&state);
	saved = (struct saved_helper){
		.control = record_put_fd(&save->records, state.control),
		.pidfd = record_put_fd(&save->records, state.pidfd),
		.generation = state.generation,
	};
	record_put(&save->records, RECORD_HELPER, &saved, sizeof(saved), NULL, 0);
}

/* ---- devices ---- */

/* Also asked while the state is restored. */
u64 host_state_context_id(const struct binder_context *context)
{
	const struct handover *self = daemon_self->handover;
	struct entry **entries = self->save ? self->save->entries : self->restore->entries;
	u32 nr = self->save ? self->save->nr_entries : self->restore->nr_entries;

	for (u32 i = 0; i < nr; i++)
		if (entries[i] && entries[i]->kind == ENTRY_DEVICE && entries[i]->device == context)
			return i + 1;
	return 0;
}

/* ---- everything ---- */

static void save_session(struct save *save)
{
	struct saved_session saved = {
		.start_time = (u64)tree_start_time(),
		.period = expire_stamp(),
		.next_minor = layout_next_minor(),
		.stages_on = stages_are_on(),
		.nr_opens = save->nr_opens,
		.nr_calls = save->nr_calls,
		.nr_files = save->nr_files,
	};

	record_put(&save->records, RECORD_SESSION, &saved, sizeof(saved), NULL, 0);
}

static int put_engine(struct binder_state_sink *sink, const void *bytes, size_t size)
{
	(void)sink;
	return record_put_bytes(&daemon_self->handover->save->engine, bytes, size);
}

int save_all(struct save *save, u32 engine_version)
{
	struct binder_state_sink sink = { .put = put_engine };
	int error;

	daemon_self->handover->save = save;
	daemon_self->handover->attempt++;
	save->engine_version = engine_version;
	save_names(save);
	error = binder_state_write(&sink, engine_version);
	if (error)
		return error;
	handles_visit(see_handle, save);
	fds_visit_closing(see_closing, save);
	save_calls(save);
	save_files(save);
	save_texts(save);
	save_helper(save);
	save_session(save);
	return save->records.failed ? -ENOMEM : 0;
}

void save_free(struct save *save)
{
	record_free(&save->records);
	record_free(&save->engine);
	free(save->entries);
	daemon_self->handover->save = NULL;
}
