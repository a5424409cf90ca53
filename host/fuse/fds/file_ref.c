// SPDX-License-Identifier: GPL-2.0
/* References to clients' files, which exist in the helper process, and their end. */
#include "fds/daemon_side.h"

#include "base/clock.h"
#include "base/daemon_log.h"
#include "base/daemon_state.h"
#include "base/libc.h"
#include "base/locks.h"
#include "clients/client_thread.h"
#include "clients/users.h"

#include <stdlib.h>
#include <unistd.h>

struct file_refs {
	pthread_mutex_t lock;
	struct bl_list closing;		/* oldest first */
	struct bl_list overdue;		/* being closed, and charged for that */
	atomic_ullong last_id;
};

void file_refs_init(void)
{
	struct file_refs *refs = daemon_part(file_refs);

	pthread_mutex_init(&refs->lock, NULL);
	bl_init(&refs->closing);
	bl_init(&refs->overdue);
}

static void free_file(struct host_file *file)
{
	if (file->overdue)
		user_charges_remove(file->uid, USER_STALLED);
	user_charges_remove(file->uid, USER_FILES);
	free(file);
}

static int take_file(struct host_thread *caller, u32 fd, struct helper_answer *answer)
{
	struct helper_message message = { .op = HELPER_TAKE,
					  .uid = caller->proc->charged_uid,
					  .fd = (s32)fd };
	int pidfd = open_pidfd(client_thread_pid(caller), caller->tid);
	int error;

	if (pidfd < 0)
		return pidfd;
	error = helper_ask(&message, pidfd, caller->proc->open_id, answer);
	close(pidfd);
	if (!error && answer->result < 0)
		error = answer->result;
	return error;
}

int fds_get(struct host_thread *caller, u32 fd, struct host_file **file)
{
	u32 uid = caller->proc->charged_uid;
	struct helper_answer taken;
	int error;

	if (!user_charges_add(uid, USER_FILES))
		return -EMFILE;
	*file = calloc(1, sizeof(**file));
	error = *file ? take_file(caller, fd, &taken) : -ENOMEM;
	if (error) {
		user_charges_remove(uid, USER_FILES);
		free(*file);
		*file = NULL;
		return error;
	}
	(*file)->id = atomic_fetch_add(&daemon_self->file_refs->last_id, 1) + 1;
	(*file)->fd = taken.result;
	(*file)->generation = taken.generation;
	(*file)->uid = uid;
	atomic_init(&(*file)->refs, 1);
	return 0;
}

struct host_file *file_ref_get(struct host_file *file)
{
	atomic_fetch_add(&file->refs, 1);
	return file;
}

/* The file may be freed as soon as the helper has the message. */
void fds_put(struct host_file *file)
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
		bl_add_tail(&refs->closing, &file->in_closing);
		helper_send(&message, 0, file->generation);
	}
	pthread_mutex_unlock(&refs->lock);
	if (lost)
		free_file(file);
	else
		helper_arm_tick();
}

/* Most are among the first: few are being closed at a time. Lock held. */
static struct host_file *find_locked(const struct bl_list *files, u64 id)
{
	struct host_file *file;

	bl_for_each(file, files, in_closing)
		if (file->id == id)
			return file;
	return NULL;
}

void file_ref_closed(u64 id)
{
	struct file_refs *refs = daemon_self->file_refs;
	struct host_file *file;

	pthread_mutex_lock(&refs->lock);
	file = find_locked(&refs->closing, id);
	if (!file)
		file = find_locked(&refs->overdue, id);
	if (file)
		bl_del(&file->in_closing);
	pthread_mutex_unlock(&refs->lock);
	if (file)
		free_file(file);
}

/* Lock held. */
static void free_lost(struct bl_list *files)
{
	struct bl_list kept;
	struct host_file *file;

	bl_init(&kept);
	while ((file = bl_first_entry(files, struct host_file, in_closing))) {
		bl_del(&file->in_closing);
		if (file->generation == helper_generation())
			bl_add_tail(&kept, &file->in_closing);
		else
			free_file(file);
	}
	bl_splice_tail(files, &kept);
}

void file_ref_lost_all(void)
{
	guard_mutex(&daemon_self->file_refs->lock);
	free_lost(&daemon_self->file_refs->closing);
	free_lost(&daemon_self->file_refs->overdue);
}

/* Lock held. */
static void add_overdue(struct host_file *file)
{
	file->overdue = true;
	bl_add_head(&daemon_self->file_refs->overdue, &file->in_closing);
	user_charges_add_always(file->uid, USER_STALLED);
}

bool file_ref_check_overdue(void)
{
	struct file_refs *refs = daemon_self->file_refs;
	u64 limit = clock_now_ns() - HELPER_DEADLINE_MS * 1000000ull;
	struct host_file *file;

	guard_mutex(&refs->lock);
	while ((file = bl_first_entry(&refs->closing, struct host_file, in_closing)) &&
	       file->closing_ns < limit) {
		bl_del(&file->in_closing);
		add_overdue(file);
		log_info("a file of user %u takes long to close", file->uid);
	}
	return file;
}

void fds_visit_closing(void (*visit)(struct host_file *file, void *arg), void *arg)
{
	struct host_file *file;

	bl_for_each(file, &daemon_self->file_refs->closing, in_closing)
		visit(file, arg);
	bl_for_each(file, &daemon_self->file_refs->overdue, in_closing)
		visit(file, arg);
}

void fds_restore_file(struct host_file *file, bool is_closing)
{
	struct file_refs *refs = daemon_self->file_refs;

	user_charges_add_always(file->uid, USER_FILES);
	guard_mutex(&refs->lock);
	if (file->id > atomic_load(&refs->last_id))
		atomic_store(&refs->last_id, file->id);
	if (is_closing && file->overdue)
		add_overdue(file);
	else if (is_closing)
		bl_add_tail(&refs->closing, &file->in_closing);
}
