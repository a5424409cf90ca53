// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of the injector, in the helper.
 *
 * A receiver can delay the thread that traces it: its memory is read and written, and its
 * descriptors are duplicated and closed. So each user has an injector of its own. One that does
 * not end a job in time is left behind, with its tracees, and its user gets another, a few times.
 */

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/list.h"
#include "base/locks.h"
#include "base/runnable.h"
#include "fds/helper/helper_side.h"
#include "fds/inject/inject.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX 64u
/* Injectors of one user, all but one left behind; while half of all are in use, one. */
#define SLOTS_ONE 4u
/* A job ends by itself within INJECT_TIMEOUT_MS of its start if injector and receiver run. */
#define OVERDUE_NS (3ull * INJECT_TIMEOUT_MS * 1000000)

struct slot {
	struct injector *injector;
	u32 uid;
	u32 nr_jobs;
};

struct job {
	struct inject_job inject;
	struct bl_list in_jobs;
	struct slot *slot;
	u64 id;
	u64 began_ns;
	int *result_fds;
	int numbers[];
};

struct helper_injectors {
	pthread_mutex_t lock;
	struct slot slots[SLOTS_MAX];
	struct bl_list jobs;
};

void helper_injectors_init(void)
{
	pthread_mutex_init(&daemon_part(helper_injectors)->lock, NULL);
	bl_init(&daemon_self->helper_injectors->jobs);
}

static void send_event(const struct job *job, enum helper_event_kind kind, int error)
{
	u32 nr = kind == HELPER_DONE && !error ? (u32)job->inject.nr_install : 0;
	struct helper_event *event = calloc(1, sizeof(*event) + nr * sizeof(s32));

	if (!event)
		return;
	*event = (struct helper_event){ .kind = kind, .error = error, .id = job->id, .nr = nr };
	memcpy(event->numbers, job->result_fds, nr * sizeof(s32));
	helper_send_event(event);
	free(event);
}

static void free_job(struct job *job)
{
	pthread_mutex_lock(&daemon_self->helper_injectors->lock);
	bl_del(&job->in_jobs);
	job->slot->nr_jobs--;
	pthread_mutex_unlock(&daemon_self->helper_injectors->lock);
	free(job->result_fds);
	free(job);
}

static void on_armed(struct inject_job *inject, int error)
{
	struct job *job = (struct job *)inject;

	send_event(job, HELPER_ARMED, error);
	if (error)
		free_job(job);
}

/* The receiver is still stopped: the daemon has the numbers before it gets the next ioctl. */
static void on_done(struct inject_job *inject, int error)
{
	struct job *job = (struct job *)inject;

	send_event(job, HELPER_DONE, error);
	free_job(job);
}

/* Lock held. Has @slot a job that should have ended, whose receiver does not lack a processor? */
static bool is_overdue(const struct slot *slot)
{
	const struct job *job;

	bl_for_each(job, &daemon_self->helper_injectors->jobs, in_jobs)
		if (job->slot == slot && clock_now_ns() - job->began_ns > OVERDUE_NS &&
		    !thread_is_runnable(job->inject.tid))
			return true;
	return false;
}

/* Lock held. The injector for @uid; NULL with *@error. */
static struct slot *get_slot(u32 uid, int *error)
{
	struct slot *idle = NULL;
	unsigned int nr_busy = 0;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < SLOTS_MAX; i++) {
		struct slot *slot = &daemon_self->helper_injectors->slots[i];

		nr_busy += slot->nr_jobs > 0;
		if (slot->injector && slot->uid == uid) {
			if (!is_overdue(slot))
				return slot;
			nr++;
		} else if (!slot->nr_jobs && (!slot->injector || inject_is_idle(slot->injector)) &&
			   (!idle || (!idle->injector && slot->injector))) {
			idle = slot;
		}
	}
	*error = idle && nr < (nr_busy < SLOTS_MAX / 2 ? SLOTS_ONE : 1) ? 0 : -EBUSY;
	if (!*error && !idle->injector)
		*error = inject_start(&idle->injector);
	if (*error)
		return NULL;
	idle->uid = uid;
	return idle;
}

static struct job *new_job(const struct helper_message *message)
{
	u32 nr = message->nr_install + message->nr_close;
	struct job *job = calloc(1, sizeof(*job) + nr * sizeof(int));

	if (!job)
		return NULL;
	job->result_fds = calloc(message->nr_install + 1, sizeof(int));
	if (!job->result_fds) {
		free(job);
		return NULL;
	}
	memcpy(job->numbers, message->numbers, nr * sizeof(int));
	job->id = message->id;
	job->began_ns = clock_now_ns();
	job->inject = (struct inject_job){
		.tid = message->tid,
		.tgid = message->pid,
		.nr_install = (int)message->nr_install,
		.files = job->numbers,
		.result_fds = job->result_fds,
		.nr_close = (int)message->nr_close,
		.closes = job->numbers + message->nr_install,
		.restart = message->restart,
		.armed = on_armed,
		.done = on_done,
	};
	return job;
}

void helper_inject_start(const struct helper_message *message)
{
	struct helper_injectors *injectors = daemon_self->helper_injectors;
	struct helper_event refused = { .kind = HELPER_ARMED, .error = -ENOMEM, .id = message->id };
	struct job *job = new_job(message);

	pthread_mutex_lock(&injectors->lock);
	if (job)
		job->slot = get_slot(message->uid, &refused.error);
	if (job && job->slot) {
		job->slot->nr_jobs++;
		bl_add_head(&injectors->jobs, &job->in_jobs);
	}
	pthread_mutex_unlock(&injectors->lock);
	if (job && job->slot) {
		inject_submit(job->slot->injector, &job->inject);
		return;
	}
	if (job)
		free(job->result_fds);
	free(job);
	helper_send_event(&refused);
}

bool helper_inject_is_idle(void)
{
	guard_mutex(&daemon_self->helper_injectors->lock);
	return bl_empty(&daemon_self->helper_injectors->jobs);
}
