/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of the test host, which is an ordinary process without a device; sim.h
 * describes what it simulates.
 */
#ifndef ANYBINDER_TEST_HOST_TYPES_H
#define ANYBINDER_TEST_HOST_TYPES_H

#include "userspace_atomics.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_HANDS_OVER

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define HOST_PAGE_SIZE ((size_t)4096)

struct sim_proc;
struct sim_thread;

struct fiber;

/* Taking a lock twice ends the program. */
struct sim_lock {
	pthread_mutex_t mutex; /* of type PTHREAD_MUTEX_ERRORCHECK */
	struct fiber *owner;   /* used instead by fibers (fiber.h) */
	u32 waiters;
};

struct host_spinlock {
	struct sim_lock lock;
};

/* All threads have the same priority here. */
struct host_pi_mutex {
	struct sim_lock lock;
};

struct host_atomic {
	s32 value;
};

struct host_proc {
	struct sim_proc *sim;
};

struct host_thread {
	struct sim_thread *sim;
};

struct host_map {
	struct sim_proc *sim;
};

struct host_file {
	u32 refs;
	u32 id;
	struct host_file *next, **link; /* of all */
};

struct host_out {
	char *text;
	size_t len;
};

#endif
