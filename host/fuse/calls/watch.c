// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher.
 *
 * When a process dies its files are closed, and the kernel sends RELEASE, but not while a child
 * still has the mapping that it inherited by fork (the stock driver's mapping is not inherited). So
 * the owner's pidfd is watched too. If no RELEASE has come a moment after its death, the helper
 * process searches the descriptors of all processes: if none refers to the file, the open ends; if
 * one does, as the stock driver permits, the search is repeated after each later close.
 */
#include "calls/watch.h"

#include "base/log.h"
#include "base/thread.h"
#include "calls/park.h"
#include "core.h"
#include "helper/helper.h"
#include "memory/pressure.h"
#include "workers/worker.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Delay of the search for holders, for the kernel to send RELEASE; the precision of deadlines. */
#define GRACE_NS 20000000ull

/* Searches for holders that can be pending at a time; further ones are dropped. */
#define SEARCHES_MAX 256u

/* The data of an event that is not the death of a process; numbers of opens are larger. */
#define EVENT_WAKE 0u
#define EVENT_PRESSURE 1u

static const struct watch_handlers *watch_handlers;
static int epoll_fd = -1;
static int wake_fd = -1;
static atomic_bool checking_workers;
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static u64 next_deadline_ns;
static unsigned int nr_deadlines;	/* calls that have one */
static struct {
	u64 open_id;
	u64 due_ns;
} searches[SEARCHES_MAX];
static unsigned int nr_searches;

static void wake(void)
{
	static const uint64_t one = 1;

	if (write(wake_fd, &one, sizeof(one)) < 0)
		log_debug("watcher: %s", strerror(errno));
}

void watch_add(int pidfd, u64 open_id)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = open_id };

	if (pidfd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pidfd, &event))
		log_debug("cannot watch a process: %s", strerror(errno));
}

void watch_remove(int pidfd)
{
	if (pidfd >= 0)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, pidfd, NULL);
}

void watch_check_holders(u64 open_id)
{
	pthread_mutex_lock(&watch_lock);
	if (nr_searches < SEARCHES_MAX) {
		searches[nr_searches].open_id = open_id;
		searches[nr_searches++].due_ns = host_now_ns() + GRACE_NS;
	}
	pthread_mutex_unlock(&watch_lock);
	wake();
}

void watch_deadline(u64 deadline_ns)
{
	bool earlier;

	pthread_mutex_lock(&watch_lock);
	nr_deadlines++;
	earlier = !next_deadline_ns || deadline_ns < next_deadline_ns;
	if (earlier)
		next_deadline_ns = deadline_ns;
	pthread_mutex_unlock(&watch_lock);
	if (earlier)
		wake();
}

void watch_deadline_over(void)
{
	pthread_mutex_lock(&watch_lock);
	nr_deadlines--;
	pthread_mutex_unlock(&watch_lock);
}

void watch_arm_check(void)
{
	if (!atomic_load_explicit(&checking_workers, memory_order_relaxed) &&
	    !atomic_exchange(&checking_workers, true))
		wake();
}

/* Takes one search that is due; 0: none. */
static u64 next_search(u64 now_ns)
{
	u64 open_id = 0;

	pthread_mutex_lock(&watch_lock);
	for (unsigned int i = 0; !open_id && i < nr_searches; i++) {
		if (searches[i].due_ns > now_ns)
			continue;
		open_id = searches[i].open_id;
		searches[i] = searches[--nr_searches];
	}
	pthread_mutex_unlock(&watch_lock);
	return open_id;
}

static void run_due(struct worker *self)
{
	u64 now = host_now_ns();
	struct host_thread *thread;
	bool expired;
	u64 open_id;

	while ((open_id = next_search(now)))
		watch_handlers->search(open_id);
	pthread_mutex_lock(&watch_lock);
	expired = next_deadline_ns && next_deadline_ns <= now;
	/* only the earliest deadline is known: check for others soon */
	if (expired)
		next_deadline_ns = nr_deadlines ? now + GRACE_NS : 0;
	pthread_mutex_unlock(&watch_lock);
	while (expired && (thread = park_claim_expired(now)))
		worker_push_woken(thread);
	watch_handlers->hand_over(self);
}

/* Milliseconds until something is due; -1: nothing is. */
static int time_to_sleep(void)
{
	u64 now = host_now_ns();
	u64 due;

	pthread_mutex_lock(&watch_lock);
	due = next_deadline_ns ? next_deadline_ns : UINT64_MAX;
	for (unsigned int i = 0; i < nr_searches; i++)
		due = searches[i].due_ns < due ? searches[i].due_ns : due;
	pthread_mutex_unlock(&watch_lock);
	if (atomic_load(&checking_workers) && due > now + WATCH_CHECK_MS * 1000000ull)
		return WATCH_CHECK_MS;
	if (due == UINT64_MAX)
		return -1;
	return due <= now ? 0 : (int)((due - now + 999999) / 1000000);
}

/* @data: EVENT_WAKE, EVENT_PRESSURE, or the open of a process that died. */
static void handle_event(u64 data)
{
	uint64_t ignored;

	if (data == EVENT_WAKE) {
		if (read(wake_fd, &ignored, sizeof(ignored)) < 0)
			log_debug("watcher: %s", strerror(errno));
	} else if (data == EVENT_PRESSURE) {
		pressure_relieve();
	} else if (watch_handlers->owner_died(data)) {
		watch_check_holders(data);
	}
}

/* Checks the workers; stops when none is busy. */
static void check_workers(void)
{
	if (watch_handlers->check_workers())
		return;
	atomic_store(&checking_workers, false);
	/* check again: a worker that became busy just now did not arm a set flag */
	atomic_store(&checking_workers, watch_handlers->check_workers());
}

static void watch_main(void *arg)
{
	static struct worker self;
	u64 last_check = 0;

	worker_set_self(&self);
	for (;;) {
		struct epoll_event events[64];
		int count = epoll_wait(epoll_fd, events, 64, time_to_sleep());

		for (int i = 0; i < count; i++)
			handle_event(events[i].data.u64);
		run_due(&self);
		if (atomic_load(&checking_workers) &&
		    host_now_ns() - last_check >= WATCH_CHECK_MS * 1000000ull) {
			last_check = host_now_ns();
			check_workers();
		}
	}
}

bool watch_start(const struct watch_handlers *handlers)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = EVENT_WAKE };
	struct epoll_event pressure = { .events = EPOLLPRI, .data.u64 = EVENT_PRESSURE };
	int fd;

	watch_handlers = handlers;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = pressure_open();
	if (fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &pressure))
		close(fd);
	return epoll_fd >= 0 && wake_fd >= 0 &&
	       !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) &&
	       !thread_start(watch_main, NULL);
}
