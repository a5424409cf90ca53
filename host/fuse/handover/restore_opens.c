// SPDX-License-Identifier: GPL-2.0
/*
 * Restores opens and files. Both are read before the engine's stream, and kept by their numbers
 * until that names them.
 */
#include "buffers/receive_map.h"
#include "calls/open_file.h"
#include "clients/opener_identity.h"
#include "clients/users.h"
#include "core.h"
#include "fds/fds.h"
#include "handover/private.h"
#include "handover/saved.h"
#include "memory/account.h"
#include "session/handles.h"
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- hash tables that never grow: by @id, among @nr slots, a power of two ---- */

static u32 slot_of(u64 id, u32 nr)
{
	return (u32)((id * 0x9e3779b97f4a7c15ull) >> 32) & (nr - 1);
}

struct restored_open *restore_find_open(const struct restore *restore, u64 open_id)
{
	u32 at = slot_of(open_id, restore->nr_slots);

	while (restore->opens[at] && restore->opens[at]->file->open_id != open_id)
		at = (at + 1) & (restore->nr_slots - 1);
	return restore->opens[at];
}

struct host_file *restore_find_file(const struct restore *restore, u64 id)
{
	u32 at = slot_of(id, restore->nr_file_slots);

	while (restore->files[at] && restore->files[at]->id != id)
		at = (at + 1) & (restore->nr_file_slots - 1);
	return restore->files[at];
}

/* ---- opens ---- */

static bool fill_owner(struct host_proc *proc, const struct saved_open *saved,
		       const struct record *record)
{
	size_t ranges = saved->nr_id_ranges * sizeof(struct host_id_range);

	if (record->size < ranges || saved->nr_levels > HOST_PID_LEVELS)
		return false;
	proc->pid = saved->pid;
	proc->opener = saved->opener;
	proc->euid = saved->euid;
	proc->charged_uid = saved->charged_uid;
	proc->may_raise = saved->may_raise;
	proc->nr_levels = saved->nr_levels;
	memcpy(proc->pids, saved->pids, sizeof(proc->pids));
	proc->pid_ns = saved->pid_ns;
	proc->nr_id_ranges = saved->nr_id_ranges;
	proc->open_id = saved->open_id;
	proc->nodeid = saved->nodeid;
	proc->bound = saved->bound;
	atomic_init(&proc->poll_handle, saved->poll_handle);
	atomic_init(&proc->poll_armed, saved->poll_armed);
	atomic_init(&proc->is_shared, saved->is_shared);
	atomic_init(&proc->gone, saved->gone);
	atomic_init(&proc->ended, saved->ended);
	if (ranges) {
		proc->id_ranges = malloc(ranges);
		if (proc->id_ranges)
			memcpy(proc->id_ranges, record->bytes, ranges);
	}
	if (record->size > ranges)
		proc->context = strndup(record->bytes + ranges, record->size - ranges);
	return (!ranges || proc->id_ranges) && (record->size == ranges || proc->context);
}

static void fill_map(struct restore *restore, struct host_map *map, const struct saved_open *saved)
{
	map->file = record_take_fd(&restore->records, saved->buffer);
	map->client_memory = record_take_fd(&restore->records, saved->client_memory);
	map->backing_id = saved->backing_id;
	map->base = saved->base;
	map->retry_ns = saved->retry_ns;
	for (size_t i = 0; i < HOST_MAP_PAGES / 64; i++) {
		atomic_init(&map->charged[i], saved->charged[i]);
		atomic_init(&map->provided[i], saved->provided[i]);
	}
}

static struct open_file *new_file(const struct saved_open *saved)
{
	struct open_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->open_id = saved->open_id;
	file->nodeid = saved->nodeid;
	file->handle = saved->handle;
	file->uid = saved->uid;
	file->nonblock = saved->nonblock;
	atomic_init(&file->calls, saved->released ? 0 : 1);
	atomic_init(&file->refs, !saved->released + !!saved->handle);
	atomic_init(&file->ended, saved->ended);
	atomic_init(&file->released, saved->released);
	atomic_init(&file->orphan, saved->orphan);
	atomic_init(&file->reap_at, saved->reap_at);
	return file;
}

bool restore_open(struct restore *restore, const struct record *record)
{
	struct restored_open *open = calloc(1, sizeof(*open));
	struct saved_open saved;
	u32 at;

	record_get(record, &saved, sizeof(saved));
	if (open)
		open->file = new_file(&saved);
	if (!open || !open->file) {
		free(open);
		return false;
	}
	at = slot_of(saved.open_id, restore->nr_slots);
	while (restore->opens[at])
		at = (at + 1) & (restore->nr_slots - 1);
	restore->opens[at] = open;
	open->released = saved.released;
	open->proc.pidfd = -1;
	if (saved.handle && !handles_insert(saved.handle, open->file))
		return false;
	if (saved.released)
		return true;
	restore->nr_opens++;
	open->proc.pidfd = record_take_fd(&restore->records, saved.pidfd);
	open->proc.file = open->file;
	fill_map(restore, &open->map, &saved);
	return fill_owner(&open->proc, &saved, record) && open->map.file >= 0;
}

int host_state_proc_restore(struct host_proc *proc, struct host_map *map, u64 id, size_t size)
{
	struct restored_open *open = restore_find_open(daemon_self->handover->restore, id);

	if (!open || open->released || open->file->proc ||
	    size > MAP_SIZE)
		return -EINVAL;
	*proc = open->proc;
	*map = open->map;
	open->map.file = open->map.client_memory = -1;
	identity_moved(&open->proc);
	open->file->proc = binder_proc_of_host(proc);
	open->file->host = proc;
	user_charges_add_always(open->file->uid, USER_OPENS);
	proc->account = user_memory_account(proc->charged_uid);
	account_charge(proc->account, HOST_PROC_MEMORY);
	map_restore(map, proc);
	return 0;
}

int host_state_thread_restore(struct host_thread *thread, struct host_proc *proc, s32 tid)
{
	/* its first call may have been made: dead threads are looked for in later ones */
	*thread = (struct host_thread){ .tid = tid, .proc = proc, .request.unique = 1 };
	return 0;
}

bool restore_check_opens(struct restore *restore)
{
	for (u32 i = 0; i < restore->nr_slots; i++) {
		const struct restored_open *open = restore->opens[i];

		if (open && !open->released && !open->file->proc)
			return false;
	}
	return true;
}

void restore_begin_opens(struct restore *restore)
{
	for (u32 i = 0; i < restore->nr_slots; i++)
		if (restore->opens[i] && !restore->opens[i]->released)
			open_file_restore(restore->opens[i]->file);
}

/* ---- files ---- */

bool restore_file(struct restore *restore, const struct record *record)
{
	struct host_file *file = calloc(1, sizeof(*file));
	struct saved_file saved;
	u32 at;

	record_get(record, &saved, sizeof(saved));
	if (!file)
		return false;
	file->id = saved.id;
	file->fd = saved.fd;
	file->generation = saved.generation;
	file->uid = saved.uid;
	file->closing_ns = saved.closing_ns;
	file->overdue = saved.overdue;
	restore->nr_files++;
	fds_restore_file(file, saved.is_closing);
	if (saved.is_closing)
		return true;
	at = slot_of(file->id, restore->nr_file_slots);
	while (restore->files[at])
		at = (at + 1) & (restore->nr_file_slots - 1);
	restore->files[at] = file;
	return true;
}

struct host_file *host_state_file_restore(u64 id)
{
	struct host_file *file = restore_find_file(daemon_self->handover->restore, id);

	if (file)
		atomic_fetch_add(&file->refs, 1);
	return file;
}

/* Those that nothing refers to, as their calls were left behind, are closed. */
void restore_close_unused(struct restore *restore)
{
	for (u32 i = 0; i < restore->nr_file_slots; i++) {
		struct host_file *file = restore->files[i];

		if (file && !atomic_load(&file->refs)) {
			atomic_store(&file->refs, 1);
			fds_put(file);
		}
	}
}
