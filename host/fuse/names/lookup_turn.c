// SPDX-License-Identifier: GPL-2.0
/* Turns in which threads look a device up. */
#include "names/lookup_turn.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/locks.h"

#include <stdlib.h>

/* A turn ends without a request for so long; a thread needs some 50 us between two. */
#define IDLE_NS 2000000ull

/* A turn ends after so long if others wait: its thread does not open the device. */
#define LIFE_NS 10000000ull

/*
 * Something is in the way of the threads with turns when none has made its next request for
 * STALL_NS, less than IDLE_NS, and for STALL_GAPS times as long as it took before.
 */
#define STALL_NS 250000ull
#define STALL_GAPS 8u
#define GAP_MAX_NS 200000ull

/* The longest wait: a limit of the kernel on the age of requests may be 15 s (expire.h). */
#define WAIT_NS 5000000000ull

/* Turns that are known, with those that were given because of a stall. */
#define TURNS_KNOWN 32u

#define MANY_USERS 8u

struct turn {
	pid_t tid;
	uint64_t since_ns;
	uint64_t used_ns;	/* by the latest request */
};

/* The turns and waiters of one user at one device. */
struct group {
	struct group *next;
	uid_t uid;
	uint64_t device;
	struct turn turns[TURNS_KNOWN];
	unsigned int nr_turns;
	uint64_t used_ns;	/* any of the turns, by a request that was not the first */
	uint64_t gap_ns;	/* between such requests, an average */
	unsigned int batch;	/* the waiters that a stall lets go */
	struct bl_list waiters;	/* the oldest first */
};

struct lookup_turns {
	pthread_mutex_t lock;
	struct group *groups;	/* few: those without turns and waiters are freed */
	atomic_uint nr_groups;
	atomic_uint nr_waiters;
};

void lookup_turn_init(void)
{
	pthread_mutex_init(&daemon_part(lookup_turns)->lock, NULL);
}

/* ---- turns; the lock is held for all of them ---- */

static void drop_turn(struct group *group, unsigned int at)
{
	group->turns[at] = group->turns[--group->nr_turns];
}

static void drop_ended_turns(struct group *group, uint64_t now)
{
	unsigned int i = 0;

	while (i < group->nr_turns) {
		const struct turn *turn = &group->turns[i];

		if (now - turn->used_ns >= IDLE_NS ||
		    (!bl_empty(&group->waiters) && now - turn->since_ns >= LIFE_NS))
			drop_turn(group, i);
		else
			i++;
	}
}

static struct turn *find_turn(struct group *group, pid_t tid)
{
	for (unsigned int i = 0; i < group->nr_turns; i++)
		if (group->turns[i].tid == tid)
			return &group->turns[i];
	return NULL;
}

/*
 * A thread that has a turn makes another request: whatever was in its way is not any more. (The
 * first LOOKUP of a thread needs no lock.)
 */
static void note_progress(struct group *group, uint64_t now)
{
	uint64_t gap = now - group->used_ns;

	if (gap > GAP_MAX_NS)
		gap = GAP_MAX_NS;
	group->gap_ns = (7 * group->gap_ns + gap) / 8;
	group->used_ns = now;
	group->batch = 1;
}

static bool is_stalled(const struct group *group, uint64_t now)
{
	uint64_t idle = now - group->used_ns;

	return idle >= STALL_NS && idle >= STALL_GAPS * group->gap_ns;
}

static void add_turn(struct group *group, pid_t tid, uint64_t now)
{
	struct turn *turn = &group->turns[0];

	if (!group->nr_turns)
		group->used_ns = now;
	if (group->nr_turns < TURNS_KNOWN) {
		turn = &group->turns[group->nr_turns++];
	} else {	/* in place of the one that is idle for the longest time */
		for (unsigned int i = 1; i < TURNS_KNOWN; i++)
			if (group->turns[i].used_ns < turn->used_ns)
				turn = &group->turns[i];
	}
	*turn = (struct turn){ .tid = tid, .since_ns = now, .used_ns = now };
}

/* ---- waiters; the lock is held for all of them ---- */

/* NULL: none waits. */
static struct lookup_turn_waiter *oldest_waiter(const struct group *group)
{
	return bl_first_entry(&group->waiters, struct lookup_turn_waiter, in_group);
}

static void add_waiter(struct group *group, struct lookup_turn_waiter *waiter, pid_t tid,
		       uint64_t now)
{
	waiter->tid = tid;
	waiter->since_ns = now;
	if (bl_empty(&group->waiters))
		group->batch = 1;
	bl_add_tail(&group->waiters, &waiter->in_group);
	atomic_fetch_add(&daemon_self->lookup_turns->nr_waiters, 1);
}

static void remove_waiter(struct lookup_turn_waiter *waiter)
{
	bl_del(&waiter->in_group);
	waiter->newer = NULL;
	atomic_fetch_sub(&daemon_self->lookup_turns->nr_waiters, 1);
}

/* Gives @waiter a turn, and appends it to *@end. */
static void let_go(struct group *group, struct lookup_turn_waiter *waiter, uint64_t now,
		   struct lookup_turn_waiter ***end)
{
	remove_waiter(waiter);
	add_turn(group, waiter->tid, now);
	group->used_ns = now;
	**end = waiter;
	*end = &waiter->newer;
}

/* Ends a stall: the threads with turns wait for one of the newest waiters, or want no more. */
static void end_stall(struct group *group, uint64_t now, struct lookup_turn_waiter ***end)
{
	group->nr_turns = 0;
	for (unsigned int i = 0; !bl_empty(&group->waiters) && i < group->batch; i++)
		let_go(group, bl_entry(group->waiters.prev, struct lookup_turn_waiter, in_group),
		       now, end);
	group->batch *= 2;
}

static void let_expired_go(struct group *group, uint64_t now, struct lookup_turn_waiter ***end)
{
	struct lookup_turn_waiter *oldest;

	while ((oldest = oldest_waiter(group)) && now - oldest->since_ns >= WAIT_NS)
		let_go(group, oldest, now, end);
	if (is_stalled(group, now)) {
		end_stall(group, now, end);
		return;
	}
	drop_ended_turns(group, now);
	while ((oldest = oldest_waiter(group)) && group->nr_turns < TURNS)
		let_go(group, oldest, now, end);
}

/* ---- groups ---- */

/* Frees the group if nothing is in it. */
static bool free_group(struct group **slot)
{
	struct group *group = *slot;

	if (group->nr_turns || !bl_empty(&group->waiters))
		return false;
	*slot = group->next;
	free(group);
	atomic_fetch_sub(&daemon_self->lookup_turns->nr_groups, 1);
	return true;
}

/* NULL: no memory. */
static struct group *find_or_add_group(uid_t uid, uint64_t device, uint64_t now)
{
	struct group **slot = &daemon_self->lookup_turns->groups;
	struct group *found = NULL;

	while (*slot) {
		struct group *group = *slot;

		drop_ended_turns(group, now);
		if (group->uid == uid && group->device == device)
			found = group;
		else if (free_group(slot))
			continue;
		slot = &group->next;
	}
	if (found)
		return found;
	found = calloc(1, sizeof(*found));
	if (found) {
		found->uid = uid;
		found->device = device;
		bl_init(&found->waiters);
		*slot = found;
		atomic_fetch_add(&daemon_self->lookup_turns->nr_groups, 1);
	}
	return found;
}

bool lookup_turn_take(uid_t uid, uint64_t device, pid_t tid, struct lookup_turn_waiter *waiter)
{
	if (!tid)
		return true;
	guard_mutex(&daemon_self->lookup_turns->lock);
	uint64_t now = clock_now_ns();
	struct group *group = find_or_add_group(uid, device, now);
	struct turn *turn = group ? find_turn(group, tid) : NULL;

	if (turn) {
		turn->used_ns = now;
		note_progress(group, now);
	} else if (group && group->nr_turns < TURNS) {
		add_turn(group, tid, now);
	} else if (group) {
		if (waiter)
			add_waiter(group, waiter, tid, now);
		return false;
	}
	return true;
}

bool lookup_turn_many_users(void)
{
	return atomic_load_explicit(&daemon_self->lookup_turns->nr_groups,
				    memory_order_relaxed) >= MANY_USERS;
}

struct lookup_turn_waiter *lookup_turn_end(pid_t tid)
{
	struct lookup_turns *all = daemon_self->lookup_turns;
	struct lookup_turn_waiter *first = NULL;
	struct lookup_turn_waiter **end = &first;
	struct turn *turn = NULL;
	struct group *group;

	guard_mutex(&all->lock);
	for (group = all->groups; group && !(turn = find_turn(group, tid)); group = group->next)
		;
	if (turn) {
		uint64_t now = clock_now_ns();

		drop_turn(group, (unsigned int)(turn - group->turns));
		note_progress(group, now);
		if (!bl_empty(&group->waiters) && group->nr_turns < TURNS)
			let_go(group, oldest_waiter(group), now, &end);
	}
	return first;
}

struct lookup_turn_waiter *lookup_turn_expire(void)
{
	struct lookup_turns *all = daemon_self->lookup_turns;
	struct lookup_turn_waiter *first = NULL;
	struct lookup_turn_waiter **end = &first;
	guard_mutex(&all->lock);
	uint64_t now = clock_now_ns();	/* not before any time that is noted */

	for (struct group *group = all->groups; group; group = group->next)
		if (!bl_empty(&group->waiters))
			let_expired_go(group, now, &end);
	return first;
}

/* Lock held. */
static struct lookup_turn_waiter *find_waiter(uint64_t unique)
{
	struct lookup_turn_waiter *waiter;
	struct group *group;

	for (group = daemon_self->lookup_turns->groups; group; group = group->next)
		bl_for_each(waiter, &group->waiters, in_group)
			if (waiter->unique == unique)
				return waiter;
	return NULL;
}

struct lookup_turn_waiter *lookup_turn_withdraw(uint64_t unique)
{
	guard_mutex(&daemon_self->lookup_turns->lock);
	struct lookup_turn_waiter *waiter = find_waiter(unique);

	if (waiter)
		remove_waiter(waiter);
	return waiter;
}

struct lookup_turn_waiter *lookup_turn_withdraw_any(void)
{
	struct lookup_turn_waiter *waiter = NULL;
	struct group *group;

	guard_mutex(&daemon_self->lookup_turns->lock);
	for (group = daemon_self->lookup_turns->groups; group && !waiter; group = group->next) {
		waiter = oldest_waiter(group);
		if (waiter)
			remove_waiter(waiter);
	}
	return waiter;
}

pid_t lookup_turn_waiting(uint64_t unique)
{
	const struct lookup_turn_waiter *waiter;

	if (!lookup_turn_anyone_waits())
		return 0;
	guard_mutex(&daemon_self->lookup_turns->lock);
	waiter = find_waiter(unique);
	return waiter ? waiter->tid : 0;
}

bool lookup_turn_anyone_waits(void)
{
	return atomic_load_explicit(&daemon_self->lookup_turns->nr_waiters, memory_order_relaxed);
}
