// SPDX-License-Identifier: GPL-2.0
/*
 * The gate at which the daemon's threads come to rest.
 *
 * The race is always the same: a thread stores its state and then looks at the gate, the one that
 * closes the gate stores the phase and then looks at the states. Both orders are those of all
 * threads (memory_order_seq_cst), so one of the two sees the other.
 */
#include "base/gate.h"

#include "base/clock.h"
#include "base/libc.h"
#include "base/locks.h"
#include "base/runnable.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Interrupts the wait for a request; it has no other effect. */
#define WAKE_SIGNAL SIGUSR2

#define LOOK_US 100

/* How long a member is waited for that is in what a client can delay, but lacks only a processor.
 */
#define BUSY_MS 500

_Thread_local struct gate_member *gate_self;

struct gate_lists {
	pthread_mutex_t lock;		/* guards the rest, and changes of the phase */
	pthread_cond_t opened;
	struct bl_list members;
};

static void ignore_signal(int number)
{
	(void)number;
}

void gate_init(void)
{
	struct gate *gate = daemon_part(gate);
	struct sigaction action = { .sa_handler = ignore_signal };	/* no SA_RESTART */

	gate->lists = daemon_alloc(sizeof(*gate->lists));
	pthread_mutex_init(&gate->lists->lock, NULL);
	pthread_cond_init(&gate->lists->opened, NULL);
	bl_init(&gate->lists->members);
	sigaction(WAKE_SIGNAL, &action, NULL);
}

/* ---- members ---- */

static void wait_while(enum gate_state as, bool (*shut)(void))
{
	struct gate_lists *lists = daemon_self->gate->lists;

	guard_mutex(&lists->lock);
	atomic_store(&gate_self->state, as);
	while (shut())
		pthread_cond_wait(&lists->opened, &lists->lock);
	atomic_store(&gate_self->state, GATE_MOVING);
}

void gate_rest(void)
{
	if (gate_self)
		wait_while(GATE_RESTING, gate_is_closed);
}

static bool gate_is_frozen(void)
{
	return atomic_load(&daemon_self->gate->phase) == GATE_FROZEN;
}

void gate_hold(void)
{
	wait_while(GATE_CLIENT, gate_is_frozen);
}

void gate_away(void)
{
	if (gate_self)
		atomic_store(&gate_self->state, GATE_AWAY);
}

void gate_back(void)
{
	if (!gate_self)
		return;
	atomic_store(&gate_self->state, GATE_MOVING);
	if (atomic_load(&daemon_self->gate->phase) != GATE_OPEN)
		gate_rest();
}

struct gate_member *gate_new_member(void)
{
	struct gate_member *member = calloc(1, sizeof(*member));
	struct gate_lists *lists = daemon_self->gate ? daemon_self->gate->lists : NULL;

	if (!member)
		return NULL;
	bl_init(&member->in_gate);
	if (!lists)
		return member;
	guard_mutex(&lists->lock);
	bl_add_head(&lists->members, &member->in_gate);
	return member;
}

void gate_join(struct gate_member *member)
{
	if (!daemon_self->gate)
		return;
	gate_self = member;
	atomic_store(&member->tid, gettid());
}

void gate_free_member(struct gate_member *member)
{
	if (bl_linked(&member->in_gate)) {
		pthread_mutex_lock(&daemon_self->gate->lists->lock);
		bl_del(&member->in_gate);
		pthread_mutex_unlock(&daemon_self->gate->lists->lock);
	}
	free(member);
}

/* ---- closing ---- */

struct census {
	unsigned int moving;
	unsigned int delayed;	/* by a client */
	unsigned int runnable;	/* delayed ones that lack only a processor */
};

/*
 * Counts the members that do not rest, and interrupts those that wait for requests. @closely:
 * counts those that are runnable, too.
 */
static struct census look_at_members(struct gate_lists *lists, bool closely)
{
	struct census census = { 0 };
	struct gate_member *member;

	guard_mutex(&lists->lock);
	bl_for_each(member, &lists->members, in_gate) {
		unsigned int state = atomic_load(&member->state);

		census.moving += state == GATE_MOVING || state == GATE_READING;
		census.delayed += state == GATE_CLIENT;
		census.runnable += state == GATE_CLIENT && closely &&
				   thread_is_runnable(atomic_load(&member->tid));
		if (state == GATE_READING)
			kill_thread(getpid(), atomic_load(&member->tid), WAKE_SIGNAL);
	}
	return census;
}

static void set_phase(enum gate_phase phase)
{
	struct gate *gate = daemon_self->gate;

	guard_mutex(&gate->lists->lock);
	atomic_store(&gate->phase, phase);
	if (phase != GATE_FROZEN)
		pthread_cond_broadcast(&gate->lists->opened);
}

/* Looks again after members did not move, since settle() may have started one. */
static bool is_at_rest(bool (*settle)(bool late), u64 end_ns)
{
	bool moving = true;

	set_phase(GATE_FROZEN);
	while (moving && clock_now_ns() < end_ns) {
		moving = look_at_members(daemon_self->gate->lists, false).moving;
		if (moving)
			usleep(LOOK_US);
	}
	if (!moving && settle(true) && !look_at_members(daemon_self->gate->lists, false).moving)
		return true;
	set_phase(GATE_CLOSED);
	return false;
}

bool gate_close(unsigned int client_ms, unsigned int most_ms, bool (*settle)(bool late))
{
	u64 start = clock_now_ns();
	u64 end_ns = start + most_ms * 1000000ull;
	u64 now = start;

	set_phase(GATE_CLOSED);
	for (; now < end_ns; now = clock_now_ns()) {
		u64 passed_ms = (now - start) / 1000000;
		bool late = passed_ms >= client_ms;
		struct census census = look_at_members(daemon_self->gate->lists, late);

		late = late && (!census.runnable || passed_ms >= BUSY_MS);

		if (settle(late) && !census.moving && (!census.delayed || late) &&
		    is_at_rest(settle, end_ns))
			return true;
		usleep(LOOK_US);
	}
	gate_open();
	return false;
}

void gate_open(void)
{
	set_phase(GATE_OPEN);
}

void gate_start_closed(void)
{
	set_phase(GATE_CLOSED);
}
