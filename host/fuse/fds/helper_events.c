// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of the helper's events.
 *
 * If the helper is killed, this thread starts another; files in transit are lost, and their
 * transactions fail. Several times a second, while there are files that are being closed or jobs,
 * it looks for overdue ones.
 */
#include "base/clock.h"
#include "base/daemon_log.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/thread.h"
#include "calls/client_call.h"
#include "fds/daemon_side.h"
#include "workers/worker_pool.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 250
/* How often in a row one is started that ends before it answers. */
#define STARTS_MAX 10

/* ---- events ---- */

static void file_closed(const struct helper_event *event)
{
	if (event->id)
		file_ref_closed(event->id);
}

static void open_not_held(const struct helper_event *event)
{
	call_end_open(event->id);
}

static void (*const handlers[])(const struct helper_event *event) = {
	[HELPER_CLOSED] = file_closed,
	[HELPER_ARMED] = file_job_event,
	[HELPER_DONE] = file_job_event,
	[HELPER_UNHELD] = open_not_held,
};

static void handle_event(const struct helper_event *event)
{
	if (event->kind < sizeof(handlers) / sizeof(handlers[0]))
		handlers[event->kind](event);
	pool_hand_over(worker_self);
}

enum received {
	RECEIVED_EVENT,
	RECEIVED_NOTHING,
	RECEIVED_END,		/* of the helper */
};

/* Lock of receiving held. */
static enum received receive_one(void)
{
	struct helper *helper = daemon_self->helper;
	ssize_t got = recv(helper->control, helper->buffer, sizeof(helper->buffer), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return RECEIVED_NOTHING;
	if (got < (ssize_t)sizeof(struct helper_event))
		return RECEIVED_END;
	handle_event((const struct helper_event *)helper->buffer);
	return RECEIVED_EVENT;
}

static void receive_all(void)
{
	guard_mutex(&daemon_self->helper->receiving);
	while (receive_one() == RECEIVED_EVENT)
		;
}

void fds_settle(const struct host_thread *thread)
{
	if (thread->fds && atomic_load(&thread->fds->has_job))
		receive_all();
}

/* ---- the helper has ended ---- */

/* Starts a helper in place of one that has ended or did not answer. Lock held. */
static bool replace_process(void)
{
	struct helper *helper = daemon_self->helper;

	for (int i = 0; i < STARTS_MAX; i++) {
		close(helper->control);
		helper->control = -1;
		helper_kill();
		helper_wait_for_end();
		if (helper_start_process())
			return true;
		if (errno == ETIMEDOUT)
			return false;
	}
	return false;
}

static void helper_restart(void)
{
	struct helper *helper = daemon_self->helper;
	const char *reason = NULL;

	log_warn("the helper process was killed: files in transactions under way are lost");
	pthread_mutex_lock(&helper->lock);
	if (!replace_process())
		reason = helper_start_error();
	helper_close_channels();
	pthread_mutex_unlock(&helper->lock);
	if (reason) {
		log_error("cannot start the helper process again: %s", reason);
		kill(getpid(), SIGTERM);
	}
	file_job_lost_all();
	file_ref_lost_all();
	pool_hand_over(worker_self);
}

static void receive_event(void)
{
	guard_mutex(&daemon_self->helper->receiving);
	if (receive_one() == RECEIVED_END)
		helper_restart();
}

/* ---- overdue files and jobs ---- */

static bool check_overdue(void)
{
	guard_mutex(&daemon_self->helper->receiving);
	bool jobs = file_job_check_overdue();

	pool_hand_over(worker_self);
	return file_ref_check_overdue() || jobs;
}

/*
 * Time in which the helper does not run is no client's: then, and for as long afterwards as a
 * client may take, nothing is overdue. @gap_ns: since the last tick.
 */
static bool was_asleep(u64 gap_ns)
{
	struct helper *helper = daemon_self->helper;

	if (gap_ns > HELPER_ALIVE_MS * 1000000ull || !helper_is_alive())
		helper->asleep_ns = clock_now_ns();
	return clock_now_ns() - helper->asleep_ns < HELPER_DEADLINE_MS * 1000000ull;
}

static void helper_tick(u64 gap_ns)
{
	if (was_asleep(gap_ns) || check_overdue())
		return;
	atomic_store(&daemon_self->helper->ticking, false);
	/* check again: helper_arm_tick() may have seen the flag set */
	if (check_overdue())
		atomic_store(&daemon_self->helper->ticking, true);
}

/* ---- the thread ---- */

static void events_main(void *arg)
{
	struct helper *helper = daemon_self->helper;
	uint64_t ignored;
	u64 last_tick = 0;

	worker_set_self(&helper->worker);
	for (;;) {
		struct epoll_event events[16];
		int timeout = atomic_load(&helper->ticking) ? TICK_MS : -1;
		int count;

		gate_away();
		count = epoll_wait(helper->epoll_fd, events, 16, timeout);
		gate_back();
		for (int i = 0; i < count; i++) {
			if (!events[i].data.ptr)
				receive_event();
			else if (events[i].data.ptr != &helper->wake_fd)
				helper_late_answer(events[i].data.ptr);
			else if (read(helper->wake_fd, &ignored, sizeof(ignored)) < 0)
				log_debug("helper: %s", strerror(errno));
		}
		if (!atomic_load(&helper->ticking)) {
			last_tick = 0;
		} else if (clock_now_ns() - last_tick >= TICK_MS * 1000000ull) {
			helper_tick(last_tick ? clock_now_ns() - last_tick : 0);
			last_tick = clock_now_ns();
		}
	}
}

static bool init_helper(void)
{
	struct helper *helper = daemon_part(helper);

	file_refs_init();
	file_jobs_init();
	pthread_mutex_init(&helper->lock, NULL);
	pthread_mutex_init(&helper->receiving, NULL);
	helper->control = -1;
	helper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	helper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return helper->epoll_fd >= 0 && helper->wake_fd >= 0 &&
	       helper_is_watched(helper->wake_fd, &helper->wake_fd);
}

bool fds_init(void)
{
	bool ok = init_helper();
	struct helper *helper = daemon_self->helper;

	pthread_mutex_lock(&helper->lock);
	ok = ok && helper_start_process();
	pthread_mutex_unlock(&helper->lock);
	if (!ok)
		log_error("cannot start the helper process (/proc/self/exe): %s",
			  helper_start_error());
	return ok && !thread_start(events_main, NULL);
}

/* ---- handing over ---- */

void fds_save_helper(struct helper_state *state)
{
	struct helper *helper = daemon_self->helper;

	guard_mutex(&helper->lock);
	*state = (struct helper_state){ helper->control, helper->pidfd, helper_generation() };
}

bool fds_take_over(const struct helper_state *state)
{
	bool ok = init_helper();
	struct helper *helper = daemon_self->helper;

	pthread_mutex_lock(&helper->lock);
	helper->control = state->control;
	helper->pidfd = state->pidfd;
	atomic_store(&helper->generation, state->generation);
	ok = ok && helper_is_watched(helper->control, NULL) &&
	     helper_link_lives(HELPER_DEADLINE_MS);
	pthread_mutex_unlock(&helper->lock);
	return ok && !thread_start(events_main, NULL);
}
