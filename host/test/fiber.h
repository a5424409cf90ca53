/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fiber: simulated threads on one thread of the system, and a random scheduler. Each lock
 * operation, atomic operation, wake-up and host call is a scheduling point, where the
 * scheduler decides which fiber runs next; a seed determines the interleaving. Time is
 * virtual: it passes a little at each point, and when no fiber can run it advances to the
 * next deadline.
 *
 * Outside fiber_run() (in unit tests, and while a run is set up) there are no fibers:
 * points do nothing and locks are those of the system.
 */
#ifndef ANYBINDER_TEST_FIBER_H
#define ANYBINDER_TEST_FIBER_H

#include "host_types.h"

#include <setjmp.h>

struct fiber;

enum fiber_policy {
	FIBER_DICE,  /* at a random point, switches to a random fiber */
	FIBER_RANKS, /* runs the runnable fiber of the highest rank; at a random point, the
		      * running fiber gets the lowest rank */
	FIBER_POLICIES,
};

struct fiber_plan {
	u64 seed;
	enum fiber_policy policy;
	u32 switch_one_in; /* one of so many points is a switch or a loss of rank */
	u64 max_points;	   /* more points than this end the program: an endless run */
	/*
	 * If set, it decides instead at each point where the running fiber holds no spinlock: it
	 * returns the number of one of the fibers in the mask @enabled (which @self is in, if that
	 * goes on), or FIBER_STOP, which ends fiber_run(). No time passes while a fiber can run.
	 */
	u32 (*choose)(u32 enabled, u32 self);
};

#define FIBER_STOP (~0u) /* also: no fiber */

/* What choose() has to know about locks that sleep and about wake-ups; NULL: nobody asks. */
enum fiber_access { FIBER_READ, FIBER_ADD, FIBER_WRITE, FIBER_LOCK, FIBER_UNLOCK };
extern void (*fiber_watch)(enum fiber_access what, const void *at, size_t size);

/*
 * Called when no fiber can run and there is no deadline. It may look at everything, since
 * no lock is held, and must wake a fiber; if it returns false, the program ends with a
 * message that says what each fiber waits for.
 */
typedef bool (*fiber_idle)(void *arg);

void fiber_begin(const struct fiber_plan *plan);
/*
 * Creates a fiber that will call @run(@arg); may also be called by a fiber. @name is for
 * messages and may contain one %d, for @id.
 */
struct fiber *fiber_new(const char *name, int id, void (*run)(void *arg), void *arg);
/* Runs the fibers until all have returned. */
void fiber_run(fiber_idle idle, void *arg);

/* The running fiber; NULL outside fiber_run(). */
extern struct fiber *fiber_current;
/* Its number, from 0 in the order of fiber_new(); FIBER_STOP outside fiber_run(). */
u32 fiber_number(void);
/* Is @at on its stack? */
bool fiber_on_stack(const void *at);

/* A scheduling point: another fiber may run. */
void fiber_point(void);
/* Sleeps for @ns nanoseconds. */
void fiber_pause(u64 ns);
/*
 * Sleeps until fiber_wake() (true, also if that was called before), or for @ns nanoseconds
 * (false); 0: without a limit.
 */
bool fiber_wait(u64 ns);
/* @fiber may be NULL. */
void fiber_wake(struct fiber *fiber);

/*
 * Calls @run(@arg) at once, without fibers: points do nothing and locks are those of the system.
 * The schedule and the time of the run do not change.
 */
void fiber_outside(void (*run)(void *arg), void *arg);

/*
 * A fiber that may be left behind in an operation of the host: *escape is where it goes on then, by
 * longjmp(), in a function that has not returned. NULL: it may not.
 */
void fiber_set_escape(jmp_buf *escape);
/*
 * Around an operation that sleeps; NULL after it. At its beginning fiber_at_sleep() is called, if
 * there is one.
 */
void fiber_sleep(const char *operation);
extern void (*fiber_at_sleep)(void);
/* The operation in which @fiber can be left behind: it holds no lock; NULL: it cannot. */
const char *fiber_sleeps_in(const struct fiber *fiber);
/* Leaves it behind; the running fiber goes on when fiber_at_sleep() returns. */
void fiber_leave_behind(struct fiber *fiber);

u64 fiber_now_ns(void);
/* The number of scheduling points so far, and a hash of the scheduling decisions. */
u64 fiber_points(void);
u64 fiber_trace(void);

/* Pseudo-random numbers from the generator @state: of 64 bits; below @sides. */
u64 fiber_next(u64 *state);
u32 fiber_dice(u64 *state, u32 sides);

/* Locks of fibers. */
void fiber_lock(struct sim_lock *lock, bool spin);
bool fiber_trylock(struct sim_lock *lock, bool spin);
void fiber_unlock(struct sim_lock *lock, bool spin);
/* The ranks of the locks that the running fiber holds, and the number of its spinlocks. */
u32 *fiber_lock_ranks(void);
u32 fiber_spins_held(void);

#endif
