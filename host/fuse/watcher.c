// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher.
 *
 * When a process dies its files are closed, and the kernel sends RELEASE, but not while a child
 * still has the mapping that it inherited by fork (the C driver's mapping is not inherited). So
 * the owner's pidfd is watched too. If no RELEASE has come a moment after its death, the helper
 * process searches the descriptors of all processes: if none refers to the file, the open ends; if
 * one does, as the C driver permits, the search is repeated after each later close.
 *
 * The pages under a freed buffer keep their memory for the next buffer. When tasks begin to stall
 * on memory, the kernel reports it (pressure stall information) and all idle pages are returned.
 * Without that report, idle pages stay with their open, whose map size bounds them.
 */
#include "server_process.h"

#include "base/daemon_log.h"
#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/thread.h"
#include "calls/park.h"
#include "calls/stuck_workers.h"
#include "calls/watched_events.h"
#include "core.h"
#include "device_requests.h"
#include "session/expire.h"
#include "workers/worker_pool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Some task stalled for 150 ms within 2 s, the shortest window for unprivileged users. */
#define PRESSURE_TRIGGER "some 150000 2000000"

/* Pages returned at a time. */
#define PRESSURE_BATCH 1024

/* Takes one search that is due; 0: none. */
static u64 next_search(u64 now_ns)
{
	struct watch *watch = daemon_self->watch;
	u64 open_id = 0;

	guard_mutex(&watch->lock);
	for (unsigned int i = 0; !open_id && i < watch->nr_searches; i++) {
		if (watch->searches[i].due_ns > now_ns)
			continue;
		open_id = watch->searches[i].open_id;
		watch->searches[i] = watch->searches[--watch->nr_searches];
	}
	return open_id;
}

/* Calls that are resumed here are left to a worker. */
static void run_due(struct worker *self)
{
	struct watch *watch = daemon_self->watch;
	u64 now = host_now_ns();
	struct host_thread *thread;
	bool overdue = expire_advance(now);
	bool expired;
	u64 open_id;

	while ((open_id = next_search(now)))
		device_search(open_id);
	pthread_mutex_lock(&watch->lock);
	expired = watch->next_deadline_ns && watch->next_deadline_ns <= now;
	/* only the earliest deadline is known: check for others soon */
	if (expired)
		watch->next_deadline_ns = watch->nr_deadlines ? now + WATCH_GRACE_NS : 0;
	pthread_mutex_unlock(&watch->lock);
	while (expired && (thread = park_claim_expired(now)))
		worker_push_woken(thread);
	while (overdue && (thread = park_claim_overdue()))
		worker_push_woken(thread);
	pool_hand_over(self);
}

/* Milliseconds until something is due; -1: nothing is. */
static int time_to_sleep(void)
{
	struct watch *watch = daemon_self->watch;
	u64 now = host_now_ns();
	u64 due = expire_next_ns();

	pthread_mutex_lock(&watch->lock);
	if (watch->next_deadline_ns && watch->next_deadline_ns < due)
		due = watch->next_deadline_ns;
	for (unsigned int i = 0; i < watch->nr_searches; i++)
		due = watch->searches[i].due_ns < due ? watch->searches[i].due_ns : due;
	pthread_mutex_unlock(&watch->lock);
	if (atomic_load(&watch->checking_workers) && due > now + STUCK_CHECK_MS * 1000000ull)
		return STUCK_CHECK_MS;
	if (due == UINT64_MAX)
		return -1;
	return due <= now ? 0 : (int)((due - now + 999999) / 1000000);
}

static void pressure_relieve(void)
{
	size_t total = 0;
	size_t given;

	do {
		given = binder_shrink(PRESSURE_BATCH);
		total += given;
	} while (given);
	log_info("memory pressure: returned %zu idle pages to the system", total);
}

/* @data: WATCH_EVENT_WAKE, WATCH_EVENT_PRESSURE, or the open of a process that died. */
static void handle_event(u64 data)
{
	uint64_t ignored;

	if (data == WATCH_EVENT_WAKE) {
		if (read(daemon_self->watch->wake_fd, &ignored, sizeof(ignored)) < 0)
			log_debug("watcher: %s", strerror(errno));
	} else if (data == WATCH_EVENT_PRESSURE) {
		pressure_relieve();
	} else if (device_owner_died(data)) {
		watch_check_holders(data);
	}
}

/* Checks the workers; stops when none is busy. */
static void check_workers(void)
{
	struct watch *watch = daemon_self->watch;

	if (pool_check())
		return;
	atomic_store(&watch->checking_workers, false);
	/* check again: a worker that became busy just now did not arm a set flag */
	atomic_store(&watch->checking_workers, pool_check());
}

static void watcher_main(void *arg)
{
	struct worker *self = arg;
	u64 last_check = 0;

	worker_set_self(self);
	for (;;) {
		struct epoll_event events[64];
		int timeout = time_to_sleep();
		int count;

		gate_away();
		count = epoll_wait(daemon_self->watch->epoll_fd, events, 64, timeout);
		gate_back();
		for (int i = 0; i < count; i++)
			handle_event(events[i].data.u64);
		run_due(self);
		if (atomic_load(&daemon_self->watch->checking_workers) &&
		    host_now_ns() - last_check >= STUCK_CHECK_MS * 1000000ull) {
			last_check = host_now_ns();
			check_workers();
		}
	}
}

/* A descriptor that polls as EPOLLPRI; -1: the kernel has no pressure stall information. */
static int pressure_open(void)
{
	int fd = open("/proc/pressure/memory", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && write(fd, PRESSURE_TRIGGER, strlen(PRESSURE_TRIGGER) + 1) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool watcher_start(void)
{
	struct epoll_event event = { .events = EPOLLPRI, .data.u64 = WATCH_EVENT_PRESSURE };
	int fd = pressure_open();

	if (fd >= 0 && epoll_ctl(daemon_self->watch->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		close(fd);
	return !thread_start(watcher_main, daemon_alloc(sizeof(struct worker)));
}
