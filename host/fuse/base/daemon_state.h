/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One daemon: the state of each of its parts.
 *
 * Only the part itself knows the contents of its struct, which its NAME_init() creates. No part has
 * variables of its own beside it, so that a process can have several daemons: a test makes two, and
 * one that takes over from another is handed its state.
 */
#ifndef HOST_FUSE_DAEMON_STATE_H
#define HOST_FUSE_DAEMON_STATE_H

#include <stdbool.h>
#include <stddef.h>

struct daemon {
	/* base/ */
	struct gate *gate;
	/* session/ */
	struct session *session;
	struct handles *handles;
	struct persistent *persistent;
	struct mount *mount;
	struct ready *ready;
	struct expire *expire;
	/* workers/ */
	struct worker_table *workers;
	struct worker_pool *pool;
	struct workqueue *workqueue;
	/* clients/ */
	struct identity *identity;
	struct selinux *selinux;	/* NULL: off */
	struct namespaces *namespaces;
	struct users *users;
	/* memory/ */
	struct accounts *accounts;
	/* queues/ */
	struct fair_queue *backlog;
	struct fair_queue *slow_lane;
	struct congestion *congestion;
	/* events/ */
	struct events *events;
	struct events_ring *events_ring;
	struct stages *stages;
	/* names/ */
	struct tree *tree;
	struct layout *layout;
	struct lookups *lookups;
	struct lookup_turns *lookup_turns;
	struct bound_opens *bound_opens;
	/* calls/ */
	struct open_files *open_files;
	struct parked_calls *parked_calls;
	struct affinity *affinity;
	struct watch *watch;
	/* buffers/ */
	struct bound_buffers *bound_buffers;
	/* fds/ */
	struct helper *helper;
	struct file_jobs *file_jobs;
	struct file_refs *file_refs;
	/* handover/ */
	struct handover *handover;
	/* start/ */
	struct launch *launch;
	/* the helper process, a program of its own */
	struct helper_side *helper_side;
	struct helper_closer *helper_closer;
	struct helper_injectors *helper_injectors;
	struct helper_searches *helper_searches;
};

/* The daemon that the running thread works for: thread_start() passes it on. */
extern _Thread_local struct daemon *daemon_self;

/*
 * Zeroed memory of @size bytes for the state of a part, which lives as long as the daemon. At the
 * start, before there are clients: without memory the process exits with a message.
 */
void *daemon_alloc(size_t size);

/* Creates the state of @part, for its NAME_init(). */
#define daemon_part(part) (daemon_self->part = daemon_alloc(sizeof(*daemon_self->part)))

#endif
