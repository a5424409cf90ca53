/* SPDX-License-Identifier: GPL-2.0 */
/* actor_scheduling: reads and changes the scheduling of actors, in their own threads. */
#ifndef CONFORMANCE_ACTOR_SCHEDULING_H
#define CONFORMANCE_ACTOR_SCHEDULING_H

#include <sched.h>
#include <stdint.h>

#include "client.h"

/* prio: 1 .. 99 for SCHED_FIFO and SCHED_RR, 0 for the others; nice: as getpriority(2) has it. */
struct scheduling {
	int policy;
	int prio;
	int nice;
};

/*
 * Skips the test unless the machine allows priorities to be raised, and real-time ones. The
 * director, and all it starts from here on, have nice 0.
 */
void sched_need(void);
struct scheduling sched_of(struct client *client);
void sched_set_nice(struct client *client, int nice);
void sched_set(struct client *client, int policy, int prio);
/* The client drops root and has these limits (setrlimit(2)). */
void sched_unprivileged(struct client *client, unsigned int rlimit_nice,
			unsigned int rlimit_rtprio);

/* The client's thread has this nice value, and no real-time policy. */
#define expect_nice(client, nice) sched_expect(client, SCHED_OTHER, nice, __FILE__, __LINE__)
/* It has this real-time policy and priority. */
#define expect_realtime(client, policy, prio) \
	sched_expect(client, policy, prio, __FILE__, __LINE__)
void sched_expect(struct client *client, int policy, int value, const char *file, int line);

/* The flags of an object that requests this minimum nice value for its calls. */
#define MIN_NICE(n) ((uint32_t)(uint8_t)(n))
/* Android only: the minimum policy and real-time priority, and permission to inherit such. */
#define MIN_REALTIME(policy, prio) ((uint32_t)(policy) << 9 | (uint32_t)(prio))
#define INHERIT_RT 0x800u

/* A server that is in the loop, and its object, which a caller (the context manager) may call. */
struct sched_pair {
	struct client *caller;
	struct client *server;
	uint32_t handle;
};

/* Both at nice 0; the object has these flags. Skips the test as sched_need() does. */
struct sched_pair sched_pair_new(uint32_t flags);
/* The caller calls and the server receives; the server replies and the caller gets the reply. */
const struct returned *sched_pair_serve(struct sched_pair *pair);
void sched_pair_end(struct sched_pair *pair, const struct returned *got);

/*
 * The scheduling of the calling thread, as the kernel has it (actor_process.c), or the test host
 * (engine/). The test fails if it cannot be changed.
 */
void thread_scheduling(struct scheduling *found);
/* @prio: 1 .. 99 for real-time policies, else 0. */
void thread_set_policy(int policy, int prio);
void thread_set_nice(int nice);
/* It drops root and has these limits (setrlimit(2)); skips the test where that is impossible. */
void thread_drop_privileges(unsigned int rlimit_nice, unsigned int rlimit_rtprio);

#endif
