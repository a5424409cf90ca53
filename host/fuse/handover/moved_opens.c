// SPDX-License-Identifier: GPL-2.0
/*
 * Opens of devices. The engine's stream names them by their numbers, which is when the rest are
 * found: an open that the kernel has released, but that a call which is left behind still uses.
 *
 * They are restored before the engine's stream, and kept by their numbers until that names them.
 */
#include "buffers/receive_map.h"
#include "calls/open_file.h"
#include "clients/opener_identity.h"
#include "clients/users.h"
#include "handover/moved.h"
#include "memory/user_account.h"
#include "session/handles.h"
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* nr_id_ranges struct host_id_range follow, then the security context. */
static const struct record_field open_fields[] = {
	RECORD_64(0, struct open_file, open_id),
	RECORD_64(0, struct open_file, nodeid),
	RECORD_64(0, struct open_file, handle),
	RECORD_64(1, struct host_proc, pid_ns),
	RECORD_64(1, struct host_proc, poll_handle),
	RECORD_64(2, struct host_map, base),
	RECORD_64(2, struct host_map, retry_ns),
	RECORD_BYTES(2, struct host_map, charged),
	RECORD_BYTES(2, struct host_map, provided),
	RECORD_32(0, struct open_file, uid),
	RECORD_32(0, struct open_file, nonblock),
	RECORD_32(0, struct open_file, ended),
	RECORD_32(0, struct open_file, released),
	RECORD_32(0, struct open_file, orphan),
	RECORD_32(0, struct open_file, reap_at),
	RECORD_32(1, struct host_proc, pid),
	RECORD_32(1, struct host_proc, opener),
	RECORD_32(1, struct host_proc, euid),
	RECORD_32(1, struct host_proc, charged_uid),
	RECORD_32(1, struct host_proc, may_raise),
	RECORD_32(1, struct host_proc, nr_levels),
	RECORD_BYTES(1, struct host_proc, pids),
	RECORD_32(1, struct host_proc, nr_id_ranges),
	RECORD_32(1, struct host_proc, bound),
	RECORD_32(1, struct host_proc, poll_armed),
	RECORD_32(1, struct host_proc, is_shared),
	RECORD_32(1, struct host_proc, gone),
	RECORD_32(2, struct host_map, backing_id),
	RECORD_FD(1, struct host_proc, pidfd),
	RECORD_FD(2, struct host_map, file),
	RECORD_FD(2, struct host_map, client_memory),
	RECORD_UNUSED,
};
static const struct record_layout open_layout = RECORD_LAYOUT(open_fields);

/* ---- writing ---- */

void save_open(struct save *save, struct open_file *file)
{
	bool released = atomic_load(&file->released);
	const struct host_proc *proc = released ? NULL : file->host;
	const struct host_map *map = released ? NULL : binder_proc_map(file->proc);

	record_begin(&save->records, RECORD_OPEN, &open_layout,
		     (const void *[]){ file, proc, map });
	if (proc) {
		record_put_bytes(&save->records, proc->id_ranges,
				 proc->nr_id_ranges * sizeof(*proc->id_ranges));
		if (proc->context)
			record_put_bytes(&save->records, proc->context, strlen(proc->context) + 1);
	}
	record_end(&save->records);
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

/* ---- restoring ---- */

static bool fill_owner(struct host_proc *proc, const struct open_file *file,
		       const struct record *record)
{
	size_t ranges = proc->nr_id_ranges * sizeof(struct host_id_range);

	if (record->size < ranges || proc->nr_levels > HOST_PID_LEVELS)
		return false;
	proc->open_id = file->open_id;
	proc->nodeid = file->nodeid;
	atomic_init(&proc->ended, atomic_load(&file->ended));
	if (ranges) {
		proc->id_ranges = malloc(ranges);
		if (proc->id_ranges)
			memcpy(proc->id_ranges, record->bytes, ranges);
	}
	if (record->size > ranges)
		proc->context = strndup(record->bytes + ranges, record->size - ranges);
	return (!ranges || proc->id_ranges) && (record->size == ranges || proc->context);
}

bool restore_open(struct restore *restore, const struct record *record)
{
	struct restored_open *open = calloc(1, sizeof(*open));
	struct open_file *file = calloc(1, sizeof(*file));

	if (!open || !file)
		return false;
	record_get_fields(&restore->records, record, &open_layout,
			  (void *[]){ file, &open->proc, &open->map });
	open->open_id = file->open_id;
	open->file = file;
	open->released = atomic_load(&file->released);
	open->proc.file = file;
	atomic_init(&file->calls, !open->released);
	atomic_init(&file->refs, !open->released + !!file->handle);
	by_number_insert(&restore->opens, open);
	if (file->handle && !handles_insert(file->handle, file))
		return false;
	if (open->released)
		return true;
	return fill_owner(&open->proc, file, record) && open->map.file >= 0;
}

int host_state_proc_restore(struct host_proc *proc, struct host_map *map, u64 id, size_t size)
{
	struct restored_open *open = by_number_find(&daemon_self->handover->restore->opens, id);

	if (!open || open->released || open->file->proc || size > MAP_SIZE)
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

struct host_thread *restore_find_thread(const struct restore *restore, u64 open_id, s32 tid)
{
	struct restored_open *open = by_number_find(&restore->opens, open_id);
	struct binder_thread *thread = NULL;

	if (open && !open->released)
		thread = binder_thread_find(open->file->proc, tid);
	return thread ? binder_thread_host(thread) : NULL;
}

bool restore_check_opens(struct restore *restore)
{
	for (u32 i = 0; i < restore->opens.nr; i++) {
		const struct restored_open *open = restore->opens.objects[i];

		if (!open->released && !open->file->proc)
			return false;
	}
	return true;
}

void restore_begin_opens(struct restore *restore)
{
	for (u32 i = 0; i < restore->opens.nr; i++) {
		const struct restored_open *open = restore->opens.objects[i];

		if (!open->released)
			open_file_restore(open->file);
	}
}
