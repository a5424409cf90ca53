/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that come with no request, for which the watcher waits (watcher.c): the death of a
 * process, a deadline, a busy worker.
 *
 * The functions may be called from any thread, with no engine lock held.
 */
#ifndef HOST_FUSE_WATCHED_EVENTS_H
#define HOST_FUSE_WATCHED_EVENTS_H

#include "host_types.h"

/* Delay of the search for holders, for the kernel to send RELEASE; the precision of deadlines. */
#define WATCH_GRACE_NS 20000000ull

/* Searches for holders that can be pending at a time; further ones are dropped. */
#define WATCH_SEARCHES_MAX 256u

/* The data of an epoll event that is not the death of a process; numbers of opens are larger. */
#define WATCH_EVENT_WAKE 0u
#define WATCH_EVENT_PRESSURE 1u

struct watch {
	int epoll_fd;
	int wake_fd;
	atomic_bool checking_workers;
	pthread_mutex_t lock;		/* guards the rest */
	u64 next_deadline_ns;
	unsigned int nr_deadlines;	/* calls that have one */
	struct {
		u64 open_id;
		u64 due_ns;
	} searches[WATCH_SEARCHES_MAX];
	unsigned int nr_searches;
};

/* False: no descriptors. */
bool watch_init(void);

/* The process of @pidfd has opened @open_id: the watcher handles its death. */
void watch_add(int pidfd, u64 open_id);
void watch_remove(int pidfd);

/* The owner of @open_id is dead and a descriptor was closed: has others searched for. */
void watch_check_holders(u64 open_id);

/* A call is about to be parked until @deadline_ns (monotonic). */
void watch_deadline(u64 deadline_ns);
/* A call that was parked until a deadline is about to be replied to. */
void watch_deadline_over(void);

/* A worker became busy: has the workers checked until none is. Cheap if that is done already. */
void watch_arm_check(void);

#endif
