// SPDX-License-Identifier: GPL-2.0
/* References to clients' files, which exist in the helper process, and their end. */
#include "fds/file_ref.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "clients/users.h"
#include "fds/helper.h"

#include <stdlib.h>

struct file_refs {
	pthread_mutex_t lock;
	struct host_file *closing;	/* oldest first */
	struct host_file **closing_end;
	struct host_file *overdue;	/* being closed, and charged for that */
	atomic_ullong last_id;
};

void file_refs_init(void)
{
	struct file_refs *refs = daemon_part(file_refs);

	pthread_mutex_init(&refs->lock, NULL);
	refs->closing_end = &refs->closing;
}

static void unlink_locked(struct host_file *file)
{
	*file->prev = file->next;
	if (file->next)
		file->next->prev = file->prev;
	else if (!file->overdue)
		daemon_self->file_refs->closing_end = file->prev;
}

static void free_file(struct host_file *file)
{
	if (file->overdue)
		user_charges_remove(file->uid, USER_STALLED);
	user_charges_remove(file->uid, USER_FILES);
	free(file);
}

u64 file_ref_new_id(void)
{
	return atomic_fetch_add(&daemon_self->file_refs->last_id, 1) + 1;
}

struct host_file *file_ref_get(struct host_file *file)
{
	atomic_fetch_add(&file->refs, 1);
	return file;
}

/* Lock held. */
static void add_closing(struct host_file *file)
{
	struct file_refs *refs = daemon_self->file_refs;

	file->next = NULL;
	file->prev = refs->closing_end;
	*refs->closing_end = file;
	refs->closing_end = &file->next;
}

/* The file may be freed as soon as the helper has the message. */
void file_ref_put(struct host_file *file)
{
	struct file_refs *refs = daemon_self->file_refs;
	struct helper_message message = { .op = HELPER_CLOSE, .fd = file->fd, .uid = file->uid };
	bool lost;

	if (atomic_fetch_sub(&file->refs, 1) != 1)
		return;
	message.id = file->id;
	pthread_mutex_lock(&refs->lock);
	lost = file->generation != helper_generation();
	if (!lost) {
		file->closing_ns = clock_now_ns();
		add_closing(file);
		helper_send(&message, 0, file->generation);
	}
	pthread_mutex_unlock(&refs->lock);
	if (lost)
		free_file(file);
	else
		helper_arm_tick();
}

/* Most are among the first: few are being closed at a time. Lock held. */
static struct host_file *find_locked(struct host_file *file, u64 id)
{
	while (file && file->id != id)
		file = file->next;
	return file;
}

void file_ref_closed(u64 id)
{
	struct file_refs *refs = daemon_self->file_refs;
	struct host_file *file;

	pthread_mutex_lock(&refs->lock);
	file = find_locked(refs->closing, id);
	if (!file)
		file = find_locked(refs->overdue, id);
	if (file)
		unlink_locked(file);
	pthread_mutex_unlock(&refs->lock);
	if (file)
		free_file(file);
}

/* Lock held. */
static void free_lost(struct host_file *file)
{
	struct host_file *next;

	for (; file; file = next) {
		next = file->next;
		if (file->generation == helper_generation())
			continue;
		unlink_locked(file);
		free_file(file);
	}
}

void file_ref_lost_all(void)
{
	guard_mutex(&daemon_self->file_refs->lock);
	free_lost(daemon_self->file_refs->closing);
	free_lost(daemon_self->file_refs->overdue);
}

/* Lock held. */
static void add_overdue(struct host_file *file)
{
	struct file_refs *refs = daemon_self->file_refs;

	file->overdue = true;
	file->next = refs->overdue;
	file->prev = &refs->overdue;
	if (refs->overdue)
		refs->overdue->prev = &file->next;
	refs->overdue = file;
	user_charges_add_always(file->uid, USER_STALLED);
}

bool file_ref_check_overdue(void)
{
	struct file_refs *refs = daemon_self->file_refs;
	u64 limit = clock_now_ns() - HELPER_DEADLINE_MS * 1000000ull;
	struct host_file *file;

	guard_mutex(&refs->lock);
	while ((file = refs->closing) && file->closing_ns < limit) {
		unlink_locked(file);
		add_overdue(file);
		log_info("a file of user %u takes long to close", file->uid);
	}
	return refs->closing;
}

void file_ref_visit_closing(void (*visit)(struct host_file *file, void *arg), void *arg)
{
	struct host_file *file;

	for (file = daemon_self->file_refs->closing; file; file = file->next)
		visit(file, arg);
	for (file = daemon_self->file_refs->overdue; file; file = file->next)
		visit(file, arg);
}

void file_ref_restore_closing(struct host_file *file)
{
	guard_mutex(&daemon_self->file_refs->lock);
	if (file->overdue)
		add_overdue(file);
	else
		add_closing(file);
}

void file_ref_note_id(u64 id)
{
	if (id > atomic_load(&daemon_self->file_refs->last_id))
		atomic_store(&daemon_self->file_refs->last_id, id);
}
