/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every schedule of a small world, instead of random ones. A step of a thread goes from one
 * scheduling point to the next. The engine is compiled so that each access to memory is seen
 * (access.c), so it is known which steps depend on each other: those that access the same bytes,
 * one of them to change them, and those that take the same sleeping lock. Schedules that differ
 * only in the order of independent steps lead to the same state, and one of them is run
 * (explore.c). A section under spinlocks is one step.
 *
 * access.c   what a step accesses; memory at the same addresses in each run
 * explore.c  which schedule comes next
 * worlds.c   the worlds: processes, threads and what each of them does
 * main.c     the program
 */
#ifndef ANYBINDER_EXPLORE_H
#define ANYBINDER_EXPLORE_H

#include "fiber.h"

/* ---- access.c ---- */

#define STEP_ACCESSES 2048 /* at most, of a step */

struct access {
	uintptr_t word; /* address / 8; of a sleeping lock: with LOCK_WORD */
	u8 bytes;	/* of it, a bit each */
	u8 kind;	/* enum fiber_access */
};
#define LOCK_WORD ((uintptr_t)1 << 63)

struct accesses {
	u32 nr;
	struct access access[];
};

/* The accesses of the running step, until they are cleared. */
extern bool access_wanted;
const struct accesses *access_list(void);
void access_clear(void);
/* Does not look at the @size bytes at @at, which say nothing about what a thread does next. */
void access_ignore(const void *at, size_t size);
/* Memory from calloc() is where it was in the last run, for a thread that does the same. */
void memory_begin(void);
/* Memory of the explorer itself. */
void *own_alloc(size_t size);
void own_free(void *ptr);

/* ---- explore.c ---- */

struct explored {
	u64 schedules; /* run to the end */
	u64 pruned;    /* left early: the rest is the same as in another one */
	u64 states;    /* in which the next thread was chosen for the first time */
	u64 steps;     /* run, with those that led there again */
	u32 longest;   /* schedule, in steps */
};

enum reduction {
	REDUCE_NOT,   /* every schedule is run, also if another one is the same */
	REDUCE_SLEEP, /* sleep sets alone: every thread is tried in every state */
	REDUCE_ALL,   /* source sets, too: only threads whose turn makes a difference */
};
void explore_world(enum reduction how);
/* From explore_start() to explore_end() all schedules are tried, before and after it one. */
void explore_start(void);
void explore_end(void);
/* For struct fiber_plan. */
u32 explore_choose(u32 enabled, u32 self);
/* The run is over. False: there is no other schedule. */
bool explore_next(void);
/* The run was left early. */
bool explore_was_pruned(void);
const struct explored *explore_result(void);

#endif
