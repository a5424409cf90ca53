// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher.
 *
 * A process that dies closes its files, and the kernel says so by RELEASE: but not while a child
 * of it still has the mapping that it inherited by fork (the stock driver's mapping is not
 * inherited). So the owner's pidfd is watched too. When it is dead and no RELEASE has come a
 * moment later, the descriptors of all processes are looked through once: if none holds the file,
 * the open is over; if one does, as the stock driver allows, each later close of it has them
 * looked through again.
 */
#include "watch.h"

#include "core.h"
#include "device.h"
#include "log.h"
#include "park.h"
#include "pressure.h"
#include "worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* So long the kernel gets to say RELEASE by itself. */
#define GRACE_NS 20000000ull

/* Opens whose holders are to be looked for; more at once are done in several rounds. */
#define CHECKS_MAX 256u

static int epoll_fd = -1;
static int wake_fd = -1;

/* What an event is about, if not a process (nodeids of devices are larger). */
#define EVENT_WAKE 0u
#define EVENT_PRESSURE 1u


static atomic_bool checking_workers;
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static u64 next_deadline_ns;
static unsigned int nr_deadlines;	/* calls that have one */
static struct {
	u64 nodeid;
	u64 due_ns;
} checks[CHECKS_MAX];
static unsigned int nr_checks;

static void wake(void)
{
	static const uint64_t one = 1;

	if (write(wake_fd, &one, sizeof(one)) < 0)
		log_debug("watcher: %s", strerror(errno));
}

void watch_add(int pidfd, u64 nodeid)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = nodeid };

	if (pidfd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pidfd, &event))
		log_debug("cannot watch a process: %s", strerror(errno));
}

void watch_remove(int pidfd)
{
	if (pidfd >= 0)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, pidfd, NULL);
}

void watch_check_holders(u64 nodeid)
{
	bool added;

	pthread_mutex_lock(&watch_lock);
	added = nr_checks < CHECKS_MAX;
	if (added) {
		checks[nr_checks].nodeid = nodeid;
		checks[nr_checks++].due_ns = host_now_ns() + GRACE_NS;
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

/* The line "ino:" of fdinfo: unlike stat(2) it asks no file system, which might not answer. */
static bool is_inode(int fdinfo_dir, const char *name, u64 nodeid)
{
	char text[512];
	const char *line;
	ssize_t got;
	int fd = openat(fdinfo_dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	line = strstr(text, "\nino:");
	return line && strtoull(line + 5, NULL, 10) == nodeid;
}

static bool process_holds(const char *pid, u64 nodeid)
{
	char path[300];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && is_inode(dirfd(dir), entry->d_name, nodeid);
	closedir(dir);
	return found;
}

static bool is_held(u64 nodeid)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir("/proc");

	if (!dir)
		return true;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			process_holds(entry->d_name, nodeid);
	closedir(dir);
	return found;
}

/* Takes one check that is due; 0: none. */
static u64 next_check(u64 now_ns)
{
	u64 nodeid = 0;

	pthread_mutex_lock(&watch_lock);
	for (unsigned int i = 0; !nodeid && i < nr_checks; i++) {
		if (checks[i].due_ns > now_ns)
			continue;
		nodeid = checks[i].nodeid;
		checks[i] = checks[--nr_checks];
	}
	pthread_mutex_unlock(&watch_lock);
	return nodeid;
}

static void run_due(struct worker *self)
{
	u64 now = host_now_ns();
	struct host_thread *thread;
	bool expired;
	u64 nodeid;

	while ((nodeid = next_check(now))) {
		if (!is_held(nodeid))
			device_end(nodeid);
	}
	pthread_mutex_lock(&watch_lock);
	expired = next_deadline_ns && next_deadline_ns <= now;
	/* the earliest is known, the others are not: look again soon */
	if (expired)
		next_deadline_ns = nr_deadlines ? now + GRACE_NS : 0;
	pthread_mutex_unlock(&watch_lock);
	while (expired && (thread = park_next_expired(now)))
		park_push_woken(thread);
	worker_hand_over(self);
}

/* Milliseconds until there is something to do; -1: for ever. */
static int time_to_sleep(void)
{
	u64 now = host_now_ns();
	u64 due;

	pthread_mutex_lock(&watch_lock);
	due = next_deadline_ns ? next_deadline_ns : UINT64_MAX;
	for (unsigned int i = 0; i < nr_checks; i++)
		due = checks[i].due_ns < due ? checks[i].due_ns : due;
	pthread_mutex_unlock(&watch_lock);
	if (atomic_load(&checking_workers) && due > now + WORKER_CHECK_MS * 1000000ull)
		return WORKER_CHECK_MS;
	if (due == UINT64_MAX)
		return -1;
	return due <= now ? 0 : (int)((due - now + 999999) / 1000000);
}

static void handle_event(u64 about)
{
	uint64_t ignored;

	if (about == EVENT_WAKE) {
		if (read(wake_fd, &ignored, sizeof(ignored)) < 0)
			log_debug("watcher: %s", strerror(errno));
	} else if (about == EVENT_PRESSURE) {
		pressure_relieve();
	} else if (device_owner_died(about)) {
		watch_check_holders(about);
	}
}

static void *watch_main(void *arg)
{
	static struct worker self;
	u64 last_check = 0;

	worker_enlist(&self);
	for (;;) {
		struct epoll_event events[64];
		int count = epoll_wait(epoll_fd, events, 64, time_to_sleep());

		for (int i = 0; i < count; i++)
			handle_event(events[i].data.u64);
		run_due(&self);
		if (atomic_load(&checking_workers) &&
		    host_now_ns() - last_check >= WORKER_CHECK_MS * 1000000ull) {
			last_check = host_now_ns();
			if (!worker_check()) {
				atomic_store(&checking_workers, false);
				/* one that began just now found the flag still set */
				atomic_store(&checking_workers, worker_check());
			}
		}
	}
	return NULL;
}

bool watch_start(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = EVENT_WAKE };
	struct epoll_event pressure = { .events = EPOLLPRI, .data.u64 = EVENT_PRESSURE };
	pthread_t thread;
	int fd;

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = pressure_open();
	if (fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &pressure))
		close(fd);
	return epoll_fd >= 0 && wake_fd >= 0 &&
	       !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) &&
	       !pthread_create(&thread, NULL, watch_main, NULL);
}
