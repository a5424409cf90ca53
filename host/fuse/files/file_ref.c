// SPDX-License-Identifier: GPL-2.0
/* References to clients' files, which exist in the helper process, and their end. */
#include "files/file_ref.h"

#include "base/clock.h"
#include "base/log.h"
#include "clients/users.h"
#include "helper/helper.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
/* Being closed, oldest first; then those that were charged as overdue. */
static struct host_file *closing;
static struct host_file **closing_end = &closing;
static struct host_file *overdue;

static void unlink_locked(struct host_file *file)
{
	*file->prev = file->next;
	if (file->next)
		file->next->prev = file->prev;
	else if (!file->overdue)
		closing_end = file->prev;
}

static void free_file(struct host_file *file)
{
	if (file->overdue)
		users_discharge(file->uid, USER_STALLED);
	users_discharge(file->uid, USER_FILES);
	free(file);
}

struct host_file *file_get(struct host_file *file)
{
	atomic_fetch_add(&file->refs, 1);
	return file;
}

/* The file may be freed as soon as the helper has the message. */
void file_put(struct host_file *file)
{
	struct helper_message message = { .op = HELPER_CLOSE, .fd = file->fd, .uid = file->uid };
	bool lost;

	if (atomic_fetch_sub(&file->refs, 1) != 1)
		return;
	message.id = (uintptr_t)file;
	pthread_mutex_lock(&files_lock);
	lost = file->generation != helper_generation();
	if (!lost) {
		file->closing_ns = clock_now_ns();
		file->next = NULL;
		file->prev = closing_end;
		*closing_end = file;
		closing_end = &file->next;
		helper_send(&message, 0, file->generation);
	}
	pthread_mutex_unlock(&files_lock);
	if (lost)
		free_file(file);
	else
		helper_arm_tick();
}

void file_closed(u64 id)
{
	struct host_file *file = (struct host_file *)(uintptr_t)id;

	pthread_mutex_lock(&files_lock);
	unlink_locked(file);
	pthread_mutex_unlock(&files_lock);
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

void file_lost_all(void)
{
	pthread_mutex_lock(&files_lock);
	free_lost(closing);
	free_lost(overdue);
	pthread_mutex_unlock(&files_lock);
}

bool file_check_overdue(void)
{
	u64 limit = clock_now_ns() - HELPER_DEADLINE_MS * 1000000ull;
	struct host_file *file;
	bool busy;

	pthread_mutex_lock(&files_lock);
	while ((file = closing) && file->closing_ns < limit) {
		unlink_locked(file);
		file->overdue = true;
		file->next = overdue;
		file->prev = &overdue;
		if (overdue)
			overdue->prev = &file->next;
		overdue = file;
		users_charge_always(file->uid, USER_STALLED);
		log_info("a file of user %u takes long to close", file->uid);
	}
	busy = closing;
	pthread_mutex_unlock(&files_lock);
	return busy;
}
