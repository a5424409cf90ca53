/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate at which the daemon's threads come to rest, so that its state can be written down.
 *
 * Every thread of thread_start() is a member. It says where it waits for something that changes
 * nothing (gate_away()), where it waits for a request (a signal ends that), and where it is in what
 * a client can delay. While the gate is open that costs plain stores to the thread's own memory.
 * When it is closed, each member goes on until it waits in one of these ways; what it would do
 * afterwards it does when the gate opens again, or never: another process may have taken over.
 *
 * A member in what a client delays is left there after a while: frozen. It is stopped in the middle
 * of its call, and the call is left behind.
 */
#ifndef HOST_FUSE_GATE_H
#define HOST_FUSE_GATE_H

#include "base/daemon_state.h"
#include "base/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum gate_phase { GATE_OPEN, GATE_CLOSED, GATE_FROZEN };

enum gate_state {
	GATE_MOVING,
	GATE_READING,	/* waits for a request; or has just read one */
	GATE_CLIENT,	/* in what a client can delay, or frozen there */
	GATE_AWAY,	/* waits for something that changes nothing */
	GATE_RESTING,
};

struct gate_member {
	struct bl_list in_gate;
	atomic_int tid;			/* 0: not known yet */
	atomic_uint state;
	bool whole;			/* see gate_begin_whole() */
};

struct gate {
	atomic_uint phase;
	struct gate_lists *lists;	/* gate.c */
};

/* The running thread's; NULL: it is no member. */
extern _Thread_local struct gate_member *gate_self;

void gate_init(void);

/* ---- for members ---- */

static inline bool gate_is_closed(void)
{
	return gate_self &&
	       atomic_load_explicit(&daemon_self->gate->phase, memory_order_acquire) != GATE_OPEN;
}

/* Waits until the gate is open. The thread holds nothing that others wait for. */
void gate_rest(void);

/* Before a wait that changes nothing and after it; the latter rests if the gate is closed. */
void gate_away(void);
void gate_back(void);

/* Before read(2) of a request and after it, which fails with EINTR when the gate closes. */
static inline void gate_begin_read(void)
{
	if (gate_self)
		atomic_store_explicit(&gate_self->state, GATE_READING, memory_order_relaxed);
}

static inline void gate_end_read(void)
{
	if (gate_self)
		atomic_store_explicit(&gate_self->state, GATE_MOVING, memory_order_relaxed);
}

/* Waits while the gate is frozen, as if still in what the client delays. */
void gate_hold(void);

/*
 * Begins a section that a client can delay; no lock is held. Returns what gate_end_client() needs.
 * The thread that finds the member there, and may write the state down meanwhile, sees all that the
 * member has done before.
 */
static inline unsigned int gate_begin_client(void)
{
	unsigned int before = GATE_MOVING;

	if (gate_self && !gate_self->whole) {
		before = atomic_load_explicit(&gate_self->state, memory_order_relaxed);
		atomic_store_explicit(&gate_self->state, GATE_CLIENT, memory_order_release);
	}
	return before;
}

/*
 * Ends the section. The exchange makes that visible before the gate's phase is read (gate_close()).
 */
static inline void gate_end_client(unsigned int before)
{
	if (!gate_self || gate_self->whole || before == GATE_CLIENT)
		return;
	atomic_exchange(&gate_self->state, before);
	if (atomic_load(&daemon_self->gate->phase) == GATE_FROZEN)
		gate_hold();
}

/*
 * Begins and ends a section that must not be left behind half done: it is waited for, whatever
 * delays it. Not nested, and not within gate_begin_client().
 */
static inline void gate_begin_whole(void)
{
	if (gate_self)
		gate_self->whole = true;
}

static inline void gate_end_whole(void)
{
	if (gate_self)
		gate_self->whole = false;
}

/* Is the running thread in such a section? Then it waits for no client without need. */
static inline bool gate_is_whole(void)
{
	return gate_self && gate_self->whole;
}

/* ---- for thread.c ---- */

/* Makes a member for a thread that is about to start. NULL: no memory. */
struct gate_member *gate_new_member(void);
/* The calling thread is that of @member, from now on; and the thread ends. */
void gate_join(struct gate_member *member);
void gate_free_member(struct gate_member *member);

/* ---- for a thread that is no member ---- */

/*
 * Closes the gate and waits until all members rest, are away, or are frozen: those that a client
 * delays for longer than @client_ms. One that could go on if a processor was free is waited for,
 * for half a second. Until then settle() is called at intervals; it has others do the work that is
 * queued at such members, and returns whether all of it is done. False: a member still moves after
 * @most_ms; the gate is open again. The times of a hand-over are in handover/give.c.
 */
bool gate_close(unsigned int client_ms, unsigned int most_ms, bool (*settle)(bool late));
void gate_open(void);

/* For a process that is about to take over: its members rest from their start on. */
void gate_start_closed(void);

#endif
