/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The test home's second mode: simulated threads of execution (fibers) on one real
 * one, and a scheduler that throws dice.  At every lock operation, atomic, wake-up
 * and host call it decides who runs next, so that one seed is one interleaving and
 * the same seed is the same interleaving, anywhere.  Time is virtual: it passes
 * with each decision, and jumps to the next deadline when nobody can run.
 *
 * Outside a run (unit tests, the setting up of a run) nothing of this has any
 * effect, and locks are those of the system.
 */
#ifndef ANYBINDER_TEST_FIBER_H
#define ANYBINDER_TEST_FIBER_H

#include "host_types.h"

struct fiber;

enum fiber_policy {
	FIBER_DICE,  /* at each point with some chance somebody else, any of them */
	FIBER_RANKS, /* the highest in rank that can run; now and then one loses its rank */
	FIBER_POLICIES,
};

struct fiber_plan {
	u64 seed;
	enum fiber_policy policy;
	u32 switch_one_in; /* a point is a switch (or a loss of rank) once in so many */
	u64 max_points;	   /* a run that takes more never ends */
};

/* Called when nobody can run and no deadline is left to come: it may look at
 * everything (no lock is held, nobody is inside a host call) and must make
 * somebody go on; false if it knows of nobody, which ends the program with a
 * report of who waits for what. */
typedef bool (*fiber_idle)(void *arg);

void fiber_begin(const struct fiber_plan *plan);
/* A new fiber that will call @run(@arg).  @name: for reports, may have one %d for
 * @id.  Also from within a fiber. */
struct fiber *fiber_new(const char *name, int id, void (*run)(void *arg), void *arg);
/* Until all fibers have returned. */
void fiber_run(fiber_idle idle, void *arg);

/* NULL outside a run. */
extern struct fiber *fiber_current;

/* Somebody else may run. */
void fiber_point(void);
/* Not before @ns have passed. */
void fiber_pause(u64 ns);
/* Until fiber_wake() (true; one that came before counts) or for @ns (false); 0: for
 * ever. */
bool fiber_wait(u64 ns);
/* NULL is nobody. */
void fiber_wake(struct fiber *fiber);

u64 fiber_now_ns(void);
/* Scheduling points so far, and a number that two equal runs have in common. */
u64 fiber_points(void);
u64 fiber_trace(void);

/* Numbers from @state that look random: 0 .. @sides - 1. */
u64 fiber_next(u64 *state);
u32 fiber_dice(u64 *state, u32 sides);

/* Locks, in a run. */
void fiber_lock(struct sim_lock *lock, bool spin);
bool fiber_trylock(struct sim_lock *lock, bool spin);
void fiber_unlock(struct sim_lock *lock, bool spin);
/* Of the running fiber: the ranks of the locks that it holds, and how many of them
 * are spinlocks. */
u32 *fiber_lock_ranks(void);
u32 fiber_spins_held(void);

#endif
