/* SPDX-License-Identifier: GPL-2.0 */
/*
 * More requests than the workers serve, from more than one user.
 *
 * The kernel hands requests out in the order in which they came, so a user with a thousand calling
 * threads has a thousand turns for each turn of a user with one. This congestion is noticed by
 * samples: several users have made requests since the last one, and some requests wait. While that
 * lasts, requests are not served when they are read: the workers first read those that wait, into
 * the backlog, which is served round robin between users (backlog.h). Each caller waits for its
 * request, so the kernel's queue stays short, and a request of another user is soon read and soon
 * served.
 */
#ifndef HOST_FUSE_CONGESTION_H
#define HOST_FUSE_CONGESTION_H

#include "base/daemon_state.h"
#include "host_types.h"

/* Requests that a worker reads before it takes one from the backlog. */
#define CONGESTION_READS 64u

#define CONGESTION_NONE (~0u)

struct congestion {
	atomic_bool is_on;
	atomic_bool mixed;		/* requests of several users since the last sample */
	atomic_uint uid;		/* of the first request since then, or CONGESTION_NONE */
	/* For congestion_sample() alone. */
	unsigned int nr_clear;		/* samples in a row without it */
	unsigned int active;		/* samples until the others count as gone */
};

void congestion_init(void);

static inline bool congestion_is_on(void)
{
	return atomic_load_explicit(&daemon_self->congestion->is_on, memory_order_relaxed);
}

/* A request of @uid came. Stores twice between two samples at most. */
static inline void congestion_note(u32 uid)
{
	struct congestion *congestion = daemon_self->congestion;
	u32 first = atomic_load_explicit(&congestion->uid, memory_order_relaxed);

	if (first == CONGESTION_NONE)
		atomic_store_explicit(&congestion->uid, uid, memory_order_relaxed);
	else if (first != uid && !atomic_load_explicit(&congestion->mixed, memory_order_relaxed))
		atomic_store_explicit(&congestion->mixed, true, memory_order_relaxed);
}

/* A sample, at intervals while the workers are busy. May sleep for some ms. */
void congestion_sample(void);

#endif
