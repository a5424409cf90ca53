// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of the injector, seen from the daemon.
 *
 * The handlers of the helper's events, one at a time, change a job after it was submitted; the lock
 * guards the list.
 */
#include "fds/daemon_side.h"

#include "base/clock.h"
#include "base/daemon_log.h"
#include "base/daemon_state.h"
#include "base/locks.h"
#include "base/runnable.h"
#include "calls/park.h"
#include "clients/client_thread.h"
#include "clients/users.h"
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* The injector ends a job within INJECT_TIMEOUT_MS, unless the receiver delays the injector, */
#define GIVE_UP_NS (2ull * HELPER_DEADLINE_MS * 1000000)
/* or lacks a processor: that is seen at one of so many looks. */
#define PATIENCE_NS (RUNNABLE_PATIENCE_MS * 1000000ull)
#define LOOKS 4u

struct entry {
	struct file_job job;
	struct bl_list in_jobs;
	u32 generation;		/* of the helper process that has it */
	unsigned int nr_idle;	/* looks since the receiver was last seen to lack a processor */
};

struct file_jobs {
	pthread_mutex_t lock;
	struct bl_list entries;
	atomic_ullong last_id;
};

void file_jobs_init(void)
{
	pthread_mutex_init(&daemon_part(file_jobs)->lock, NULL);
	bl_init(&daemon_self->file_jobs->entries);
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
		.op = HELPER_INJECT,
		.uid = job->uid,
		.id = entry->job.id,
		.pid = job->tgid,
		.tid = job->tid,
		.restart = job->nr > 0,
		.nr_install = job->nr,
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

static void put_files(const struct file_job *job)
{
	for (u32 i = 0; i < job->nr; i++)
		fds_put(job->files[i]);
	free(job->files);
}

static void free_entry(struct entry *entry)
{
	put_files(&entry->job);
	if (entry->job.given_up)
		user_charges_remove(entry->job.uid, USER_STALLED);
	free(entry);
}

/* Tells the job's thread, unless it was told already. */
static void fail_job(struct entry *entry, int error)
{
	if (entry->job.given_up)
		return;
	if (entry->job.armed)
		pending_fds_done(entry->job.thread, error, NULL);
	else
		pending_fds_armed(entry->job.thread, error);
}

/* False: no memory, or the helper has just ended. */
static bool submit_job(const struct file_job *job)
{
	struct file_jobs *jobs = daemon_self->file_jobs;
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return false;
	entry->job = *job;
	entry->job.id = atomic_fetch_add(&jobs->last_id, 1) + 1;
	entry->job.deadline_ns = clock_now_ns() + GIVE_UP_NS;
	entry->generation = helper_generation();
	/* the thread of the events cannot look for it before it is in the list */
	guard_mutex(&jobs->lock);
	if (!send_job(entry)) {
		free(entry);
		return false;
	}
	bl_add_head(&jobs->entries, &entry->in_jobs);
	return true;
}

bool fds_start(struct host_thread *thread, int result)
{
	struct pending_fds *pending = thread->fds;
	bool install = pending && pending->state == INSTALL_WANTED && result == BINDER_RESTART;
	struct file_job job;

	if (!pending || (!install && !pending->nr_close))
		return false;
	job = (struct file_job){
		.thread = thread,
		.uid = thread->proc->charged_uid,
		.tid = thread->tid,
		.tgid = client_thread_pid(thread),
		.nr_close = pending->nr_close,
		.closes = pending->closes,
	};
	if (install) {
		job.nr = pending->nr;
		job.files = pending->files;
		pending->files = NULL;
	}
	pending->result = result;
	pending->installing = install;
	atomic_store(&pending->has_job, true);
	binder_thread_get(binder_thread_of_host(thread));
	park_register(thread);
	if (submit_job(&job)) {
		helper_arm_tick();
	} else {
		put_files(&job);
		pending_fds_armed(thread, -EAGAIN);
	}
	return true;
}

/* The job of that number; NULL: none. @is_over: it is none any more. */
static struct entry *find_entry(u64 id, bool is_over)
{
	struct entry *entry;

	guard_mutex(&daemon_self->file_jobs->lock);
	bl_for_each(entry, &daemon_self->file_jobs->entries, in_jobs) {
		if (entry->job.id != id)
			continue;
		if (is_over)
			bl_del(&entry->in_jobs);
		return entry;
	}
	return NULL;
}

void file_job_event(const struct helper_event *event)
{
	bool is_armed = event->kind == HELPER_ARMED && !event->error;
	struct entry *entry = find_entry(event->id, !is_armed);

	if (!entry)
		return;
	if (is_armed) {
		entry->job.armed = true;
		if (!entry->job.given_up)
			pending_fds_armed(entry->job.thread, 0);
		return;
	}
	if (event->error)
		fail_job(entry, event->error);
	else if (!entry->job.given_up)
		pending_fds_done(entry->job.thread, 0, event->numbers);
	free_entry(entry);
}

/* A job of a helper that has ended; NULL: there is none any more. */
static struct entry *take_lost(void)
{
	struct entry *entry;

	guard_mutex(&daemon_self->file_jobs->lock);
	bl_for_each(entry, &daemon_self->file_jobs->entries, in_jobs) {
		if (entry->generation == helper_generation())
			continue;
		bl_del(&entry->in_jobs);
		return entry;
	}
	return NULL;
}

void file_job_lost_all(void)
{
	struct entry *entry;

	while ((entry = take_lost())) {
		fail_job(entry, -ESRCH);
		free_entry(entry);
	}
}

/* Does its receiver wait for something else than a processor, or for too long? */
static bool is_idle(struct entry *entry, u64 now)
{
	entry->nr_idle = thread_is_runnable(entry->job.tid) ? 0 : entry->nr_idle + 1;
	return entry->nr_idle >= LOOKS || now > entry->job.deadline_ns + PATIENCE_NS;
}

/* An overdue job that was not given up yet; NULL: none. *@busy: there are others. */
static struct entry *find_overdue(bool *busy)
{
	u64 now = clock_now_ns();
	struct entry *found = NULL;
	struct entry *entry;

	guard_mutex(&daemon_self->file_jobs->lock);
	*busy = false;
	bl_for_each(entry, &daemon_self->file_jobs->entries, in_jobs) {
		if (entry->job.given_up)
			continue;
		*busy = true;
		if (now > entry->job.deadline_ns && is_idle(entry, now))
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
		fail_job(entry, -ETIMEDOUT);
		entry->job.given_up = true;
	}
	return busy;
}

/* ---- handing over ---- */

void fds_visit_jobs(void (*visit)(const struct file_job *job, void *arg), void *arg)
{
	struct entry *entry;

	bl_for_each(entry, &daemon_self->file_jobs->entries, in_jobs)
		visit(&entry->job, arg);
}

bool fds_restore_job(const struct file_job *job)
{
	struct file_jobs *jobs = daemon_self->file_jobs;
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry || (job->thread && !job->thread->fds)) {
		free(entry);
		return false;
	}
	entry->job = *job;
	entry->job.given_up = !job->thread;
	entry->generation = helper_generation();
	if (job->thread)
		atomic_store(&job->thread->fds->has_job, true);
	else
		user_charges_add_always(job->uid, USER_STALLED);
	if (job->id > atomic_load(&jobs->last_id))
		atomic_store(&jobs->last_id, job->id);
	guard_mutex(&jobs->lock);
	bl_add_head(&jobs->entries, &entry->in_jobs);
	return true;
}
