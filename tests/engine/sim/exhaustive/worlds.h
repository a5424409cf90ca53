/* SPDX-License-Identifier: GPL-2.0 */
/* The small worlds of which every schedule is run. */
#ifndef ANYBINDER_WORLDS_H
#define ANYBINDER_WORLDS_H

#include "../scenario.h"

/*
 * A long world is not in the short run. A checked one is run again with sleep sets alone, a tiny
 * one also without any reduction: that must lead to the same outcomes.
 */
#define PLAYERS 5 /* threads of a world, at most */

struct world {
	const char *name;
	enum { SHORT, LONG, CHECKED, TINY } kind;
	bool calm; /* no call may fail */
	struct player {
		u32 process;	    /* 0: the manager */
		const char *script; /* letters: see world_act() */
	} players[PLAYERS];
};

extern const struct world worlds[];
extern const u32 nr_worlds;

/*
 * Runs the schedule that is next; returns a hash of its outcome: what each thread was returned, and
 * what the engine has.
 */
u64 world_run(const struct world *world);

#endif
