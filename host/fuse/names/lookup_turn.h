/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns in which threads look a device up: a few threads of each user have one at a time.
 *
 * Each LOOKUP of a device creates an inode (tree.h), but in the kernel all threads that open the
 * device share one name. A thread that finds the inode of another under the name drops it. Of
 * several that do so at the same time, one looks the name up anew; the others wait, find its inode,
 * drop it, and so on: N threads make some N * N / 2 LOOKUPs for N opens, and a thread of another
 * user that wants to open the device is one among them.
 *
 * So a thread has a turn from its first LOOKUP to its OPEN. While all turns of a user are taken,
 * LOOKUPs by further threads wait. As long as few threads open a device at a time, none waits.
 *
 * A LOOKUP that waits can hold up all others, those of other users too: its thread may be the one
 * that looks the name up anew, or may have the directory locked, as unlink(2) does. Such a stall is
 * noticed because the threads with turns make no requests any more. Their turns end then, and the
 * LOOKUPs that came last are answered first, more of them each time, until a request comes. A
 * thread that did not want to open the device, or was killed, loses its turn in the same way.
 *
 * The functions may be called from any thread, take one mutex, and make no system call.
 */
#ifndef HOST_FUSE_LOOKUP_TURN_H
#define HOST_FUSE_LOOKUP_TURN_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Turns that one user has at one device. */
#define TURNS 4u

/* The interval of lookup_turn_expire() while anyone waits. */
#define TURN_TICK_NS 250000u

/* A LOOKUP that waits, a part of what the caller keeps of it. */
struct lookup_turn_waiter {
	struct bl_list in_group;
	struct lookup_turn_waiter *newer;	/* links the waiters that a function returns */
	uint64_t unique;		/* the request, set by the caller */
	pid_t tid;			/* its thread */
	uint64_t since_ns;
};

void lookup_turn_init(void);

/*
 * Thread @tid of user @uid looks device @device up. True: it has a turn, or needs none as it has
 * the number 0 (bound_open.h). False: there is none for it, and @waiter, unless that is NULL,
 * waits.
 */
bool lookup_turn_take(uid_t uid, uint64_t device, pid_t tid, struct lookup_turn_waiter *waiter);

/*
 * Are there so many users that some may be user ids of one (namespaces_charged_uid())? Cheap.
 */
bool lookup_turn_many_users(void);

/* The following return waiters that do not wait any more, linked by @newer, or NULL. */

/* Thread @tid opens a device: its turn, if it has one, goes to another. */
struct lookup_turn_waiter *lookup_turn_end(pid_t tid);

/* To be called at intervals while anyone waits. */
struct lookup_turn_waiter *lookup_turn_expire(void);

/* The waiter of the request @unique. */
struct lookup_turn_waiter *lookup_turn_withdraw(uint64_t unique);

/* Any waiter. */
struct lookup_turn_waiter *lookup_turn_withdraw_any(void);

/* The thread of the waiter of the request @unique; 0: it does not wait. */
pid_t lookup_turn_waiting(uint64_t unique);

/* Does anyone wait? Cheap. */
bool lookup_turn_anyone_waits(void);

#endif
