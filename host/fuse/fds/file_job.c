// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of the injector, seen from the daemon.
 *
 * The handlers of the helper's events, one at a time, change a job after it was submitted; the lock
 * guards the list.
 */
#include "fds/file_job.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "base/runnable.h"
#include "clients/users.h"
#include "fds/file_ref.h"
#include "fds/helper.h"

#include <stdlib.h>
#include <string.h>

/* The injector ends a job within INJECT_TIMEOUT_MS, unless the receiver delays the injector, */
#define GIVE_UP_NS (2ull * HELPER_DEADLINE_MS * 1000000)
/* or lacks a processor: that is seen at one of so many looks. */
#define PATIENCE_NS (RUNNABLE_PATIENCE_MS * 1000000ull)
#define LOOKS 4u

struct entry {
	struct file_job job;
	struct entry *next;
	u64 id;
	u32 generation;
	u64 deadline_ns;
	bool armed;
	bool given_up;
	unsigned int nr_idle;	/* looks since the receiver was last seen to lack a processor */
};

struct file_jobs {
	pthread_mutex_t lock;
	struct entry *first;
	atomic_ullong last_id;
};

void file_jobs_init(void)
{
	pthread_mutex_init(&daemon_part(file_jobs)->lock, NULL);
}

static bool send_job(const struct entry *entry)
{
	const struct file_job *job = &entry->job;
	u32 nr = job->nr + job->nr_close;
	struct helper_message *message = calloc(1, sizeof(*message) + nr * sizeof(s32));
	bool ok = message;

	if (!message)
		return false;
	*message = (struct helper_message){
		.op = HELPER_INJECT, .uid = job->uid, .id = entry->id, .pid = job->tgid,
		.tid = job->tid, .restart = job->nr > 0, .nr_install = job->nr,
		.nr_close = job->nr_close,
	};
	for (u32 i = 0; i < job->nr; i++) {
		message->numbers[i] = job->files[i]->fd;
		ok &= job->files[i]->generation == entry->generation;
	}
	if (job->nr_close)
		memcpy(message->numbers + job->nr, job->closes, job->nr_close * sizeof(s32));
	ok = ok && helper_send(message, nr, entry->generation);
	free(message);
	return ok;
}

static void remove_entry(struct entry *entry)
{
	struct entry **slot = &daemon_self->file_jobs->first;

	guard_mutex(&daemon_self->file_jobs->lock);
	while (*slot != entry)
		slot = &(*slot)->next;
	*slot = entry->next;
}

static void free_entry(struct entry *entry)
{
	for (u32 i = 0; i < entry->job.nr; i++)
		file_ref_put(entry->job.files[i]);
	free(entry->job.files);
	if (entry->given_up)
		user_charges_remove(entry->job.uid, USER_STALLED);
	free(entry);
}

/* Calls what the owner of the job has not been called with yet. */
static void file_job_fail(struct entry *entry, int error)
{
	if (entry->given_up)
		return;
	if (entry->armed)
		entry->job.done(entry->job.thread, error, NULL);
	else
		entry->job.armed(entry->job.thread, error);
}

void file_job_submit(const struct file_job *job)
{
	struct file_jobs *jobs = daemon_self->file_jobs;
	struct entry *entry = calloc(1, sizeof(*entry));
	bool ok = entry;

	if (entry) {
		entry->job = *job;
		entry->id = atomic_fetch_add(&jobs->last_id, 1) + 1;
		entry->generation = helper_generation();
		entry->deadline_ns = clock_now_ns() + GIVE_UP_NS;
		pthread_mutex_lock(&jobs->lock);
		/* the events thread cannot look for it before it is in the list */
		ok = send_job(entry);
		if (ok) {
			entry->next = jobs->first;
			jobs->first = entry;
		}
		pthread_mutex_unlock(&jobs->lock);
	}
	if (ok) {
		helper_arm_tick();
		return;
	}
	for (u32 i = 0; i < job->nr; i++)
		file_ref_put(job->files[i]);
	free(job->files);
	free(entry);
	job->armed(job->thread, -EAGAIN);
}

void file_job_event(const struct helper_event *event)
{
	struct entry *entry;

	pthread_mutex_lock(&daemon_self->file_jobs->lock);
	entry = daemon_self->file_jobs->first;
	while (entry && entry->id != event->id)
		entry = entry->next;
	pthread_mutex_unlock(&daemon_self->file_jobs->lock);
	if (!entry)
		return;
	if (event->kind == HELPER_ARMED && !event->error) {
		entry->armed = true;
		if (!entry->given_up)
			entry->job.armed(entry->job.thread, 0);
		return;
	}
	remove_entry(entry);
	if (event->error)
		file_job_fail(entry, event->error);
	else if (!entry->given_up)
		entry->job.done(entry->job.thread, 0, event->numbers);
	free_entry(entry);
}

void file_job_lost_all(void)
{
	struct entry *lost = NULL;
	struct entry **slot = &daemon_self->file_jobs->first;
	struct entry *entry;

	pthread_mutex_lock(&daemon_self->file_jobs->lock);
	while ((entry = *slot)) {
		if (entry->generation == helper_generation()) {
			slot = &entry->next;
			continue;
		}
		*slot = entry->next;
		entry->next = lost;
		lost = entry;
	}
	pthread_mutex_unlock(&daemon_self->file_jobs->lock);
	while ((entry = lost)) {
		lost = entry->next;
		file_job_fail(entry, -ESRCH);
		free_entry(entry);
	}
}

/* Does its receiver wait for something else than a processor, or for too long? */
static bool is_idle(struct entry *entry, u64 now)
{
	entry->nr_idle = thread_is_runnable(entry->job.tid) ? 0 : entry->nr_idle + 1;
	return entry->nr_idle >= LOOKS || now > entry->deadline_ns + PATIENCE_NS;
}

/* An overdue job that was not given up yet; NULL: none. *@busy: there are others. */
static struct entry *find_overdue(bool *busy)
{
	u64 now = clock_now_ns();
	struct entry *found = NULL;

	guard_mutex(&daemon_self->file_jobs->lock);
	*busy = false;
	for (struct entry *entry = daemon_self->file_jobs->first; entry; entry = entry->next) {
		if (entry->given_up)
			continue;
		*busy = true;
		if (now > entry->deadline_ns && is_idle(entry, now))
			found = entry;
	}
	return found;
}

bool file_job_check_overdue(void)
{
	struct entry *entry;
	bool busy;

	while ((entry = find_overdue(&busy))) {
		log_info("process %d of user %u delays an installation of files; given up",
			 entry->job.tgid, entry->job.uid);
		user_charges_add_always(entry->job.uid, USER_STALLED);
		file_job_fail(entry, -ETIMEDOUT);
		entry->given_up = true;
	}
	return busy;
}

/* ---- handing over ---- */

void file_job_visit(void (*visit)(const struct file_job *job, const struct file_job_state *state,
				  void *arg), void *arg)
{
	for (struct entry *entry = daemon_self->file_jobs->first; entry; entry = entry->next) {
		struct file_job_state state = { entry->id, entry->deadline_ns, entry->armed,
						entry->given_up };

		visit(&entry->job, &state, arg);
	}
}

bool file_job_restore(const struct file_job *job, const struct file_job_state *state)
{
	struct file_jobs *jobs = daemon_self->file_jobs;
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return false;
	entry->job = *job;
	entry->id = state->id;
	entry->generation = helper_generation();
	entry->deadline_ns = state->deadline_ns;
	entry->armed = state->armed;
	entry->given_up = state->given_up;
	if (entry->given_up)
		user_charges_add_always(job->uid, USER_STALLED);
	if (entry->id > atomic_load(&jobs->last_id))
		atomic_store(&jobs->last_id, entry->id);
	guard_mutex(&jobs->lock);
	entry->next = jobs->first;
	jobs->first = entry;
	return true;
}
