// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher.
 *
 * When a process dies its files are closed, and the kernel sends RELEASE, but not while a child
 * still has the mapping that it inherited by fork (the stock driver's mapping is not inherited). So
 * the owner's pidfd is watched too. If no RELEASE has come a moment after its death, the helper
 * process searches the descriptors of all processes: if none refers to the file, the open ends; if
 * one does, as the stock driver permits, the search is repeated after each later close.
 *
 * The pages under a freed buffer keep their memory for the next buffer. When tasks begin to stall
 * on memory, the kernel reports it (pressure stall information) and all idle pages are returned.
 * Without that report, idle pages stay with their open, whose map size bounds them.
 */
#include "calls/watch.h"

#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "base/thread.h"
#include "calls/park.h"
#include "core.h"
#include "workers/worker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Delay of the search for holders, for the kernel to send RELEASE; the precision of deadlines. */
#define GRACE_NS 20000000ull

/* Searches for holders that can be pending at a time; further ones are dropped. */
#define SEARCHES_MAX 256u

/* Some task stalled for 150 ms within 2 s, the shortest window for unprivileged users. */
#define PRESSURE_TRIGGER "some 150000 2000000"

/* Pages returned at a time. */
#define PRESSURE_BATCH 1024

/* The data of an event that is not the death of a process; numbers of opens are larger. */
#define EVENT_WAKE 0u
#define EVENT_PRESSURE 1u

struct watch {
	const struct watch_handlers *handlers;
	int epoll_fd;
	int wake_fd;
	atomic_bool checking_workers;
	struct worker worker;		/* of the thread */
	pthread_mutex_t lock;		/* guards the rest */
	u64 next_deadline_ns;
	unsigned int nr_deadlines;	/* calls that have one */
	struct {
		u64 open_id;
		u64 due_ns;
	} searches[SEARCHES_MAX];
	unsigned int nr_searches;
};

static void watch_wake(void)
{
	static const uint64_t one = 1;

	if (write(daemon_self->watch->wake_fd, &one, sizeof(one)) < 0)
		log_debug("watcher: %s", strerror(errno));
}

void watch_add(int pidfd, u64 open_id)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = open_id };

	if (pidfd >= 0 && epoll_ctl(daemon_self->watch->epoll_fd, EPOLL_CTL_ADD, pidfd, &event))
		log_debug("cannot watch a process: %s", strerror(errno));
}

void watch_remove(int pidfd)
{
	if (pidfd >= 0)
		epoll_ctl(daemon_self->watch->epoll_fd, EPOLL_CTL_DEL, pidfd, NULL);
}

void watch_check_holders(u64 open_id)
{
	struct watch *watch = daemon_self->watch;

	pthread_mutex_lock(&watch->lock);
	if (watch->nr_searches < SEARCHES_MAX) {
		watch->searches[watch->nr_searches].open_id = open_id;
		watch->searches[watch->nr_searches++].due_ns = host_now_ns() + GRACE_NS;
	}
	pthread_mutex_unlock(&watch->lock);
	watch_wake();
}

void watch_deadline(u64 deadline_ns)
{
	struct watch *watch = daemon_self->watch;
	bool earlier;

	pthread_mutex_lock(&watch->lock);
	watch->nr_deadlines++;
	earlier = !watch->next_deadline_ns || deadline_ns < watch->next_deadline_ns;
	if (earlier)
		watch->next_deadline_ns = deadline_ns;
	pthread_mutex_unlock(&watch->lock);
	if (earlier)
		watch_wake();
}

void watch_deadline_over(void)
{
	guard_mutex(&daemon_self->watch->lock);
	daemon_self->watch->nr_deadlines--;
}

/*
 * After worker_begin_request(). The fence: either this thread sees that the checks have ended, or
 * the watcher, which ends them and looks again (check_workers()), sees that the worker is busy.
 */
void watch_arm_check(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&daemon_self->watch->checking_workers, memory_order_relaxed) &&
	    !atomic_exchange(&daemon_self->watch->checking_workers, true))
		watch_wake();
}

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

static void run_due(struct worker *self)
{
	struct watch *watch = daemon_self->watch;
	u64 now = host_now_ns();
	struct host_thread *thread;
	bool expired;
	u64 open_id;

	while ((open_id = next_search(now)))
		watch->handlers->search(open_id);
	pthread_mutex_lock(&watch->lock);
	expired = watch->next_deadline_ns && watch->next_deadline_ns <= now;
	/* only the earliest deadline is known: check for others soon */
	if (expired)
		watch->next_deadline_ns = watch->nr_deadlines ? now + GRACE_NS : 0;
	pthread_mutex_unlock(&watch->lock);
	while (expired && (thread = park_claim_expired(now)))
		worker_push_woken(thread);
	watch->handlers->hand_over(self);
}

/* Milliseconds until something is due; -1: nothing is. */
static int time_to_sleep(void)
{
	struct watch *watch = daemon_self->watch;
	u64 now = host_now_ns();
	u64 due;

	pthread_mutex_lock(&watch->lock);
	due = watch->next_deadline_ns ? watch->next_deadline_ns : UINT64_MAX;
	for (unsigned int i = 0; i < watch->nr_searches; i++)
		due = watch->searches[i].due_ns < due ? watch->searches[i].due_ns : due;
	pthread_mutex_unlock(&watch->lock);
	if (atomic_load(&watch->checking_workers) && due > now + WATCH_CHECK_MS * 1000000ull)
		return WATCH_CHECK_MS;
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

/* @data: EVENT_WAKE, EVENT_PRESSURE, or the open of a process that died. */
static void handle_event(u64 data)
{
	uint64_t ignored;

	if (data == EVENT_WAKE) {
		if (read(daemon_self->watch->wake_fd, &ignored, sizeof(ignored)) < 0)
			log_debug("watcher: %s", strerror(errno));
	} else if (data == EVENT_PRESSURE) {
		pressure_relieve();
	} else if (daemon_self->watch->handlers->owner_died(data)) {
		watch_check_holders(data);
	}
}

/* Checks the workers; stops when none is busy. */
static void check_workers(void)
{
	struct watch *watch = daemon_self->watch;

	if (watch->handlers->check_workers())
		return;
	atomic_store(&watch->checking_workers, false);
	/* check again: a worker that became busy just now did not arm a set flag */
	atomic_store(&watch->checking_workers, watch->handlers->check_workers());
}

static void watch_main(void *arg)
{
	struct worker *self = &daemon_self->watch->worker;
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
		    host_now_ns() - last_check >= WATCH_CHECK_MS * 1000000ull) {
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

bool watch_start(const struct watch_handlers *handlers)
{
	struct watch *watch = daemon_part(watch);
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = EVENT_WAKE };
	struct epoll_event pressure = { .events = EPOLLPRI, .data.u64 = EVENT_PRESSURE };
	int fd;

	pthread_mutex_init(&watch->lock, NULL);
	watch->handlers = handlers;
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = pressure_open();
	if (fd >= 0 && epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &pressure))
		close(fd);
	return watch->epoll_fd >= 0 && watch->wake_fd >= 0 &&
	       !epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->wake_fd, &event) &&
	       !thread_start(watch_main, NULL);
}
