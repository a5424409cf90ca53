// SPDX-License-Identifier: GPL-2.0
/* What the watcher waits for: its epoll instance, and the list of what is due. */
#include "calls/watched_events.h"

#include "base/clock.h"
#include "base/daemon_log.h"
#include "base/daemon_state.h"
#include "base/locks.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool watch_init(void)
{
	struct watch *watch = daemon_part(watch);
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = WATCH_EVENT_WAKE };

	pthread_mutex_init(&watch->lock, NULL);
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return watch->epoll_fd >= 0 && watch->wake_fd >= 0 &&
	       !epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->wake_fd, &event);
}

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
	if (watch->nr_searches < WATCH_SEARCHES_MAX) {
		watch->searches[watch->nr_searches].open_id = open_id;
		watch->searches[watch->nr_searches++].due_ns = clock_now_ns() + WATCH_GRACE_NS;
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
