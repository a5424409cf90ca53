/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The users that have something in the daemon, in one small table under its own mutex.
 *
 * What is known of a user is three things, each with a file: counts (user_charges.h), memory
 * (user_memory.h) and time (user_time.h). Those files share this table.
 * No function of them makes a system call or waits for a client. Which user a process counts as is
 * decided by namespaces_charged_uid().
 */
#ifndef HOST_FUSE_USERS_H
#define HOST_FUSE_USERS_H

#include "base/daemon.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#define USERS_BUCKETS 64u

enum user_charge {
	USER_OPENS,	/* opens of devices */
	USER_FILES,	/* files in transactions that are not delivered yet */
	USER_HANDLES,	/* opens of directories and texts, each with a copy of the contents */
	USER_STUCK,	/* workers that are stuck in this user's memory */
	USER_STALLED,	/* operations of the helper process that this user delays (helper.h) */
	USER_CHARGES,
};

/* Bytes that are charged, and up to which they may grow without asking user_memory_grant(). */
struct account {
	atomic_long used;
	atomic_long granted;
	atomic_ullong reclaimed_ns;	/* of the last search for idle pages */
};

struct user {
	struct user *next;		/* in its bucket */
	uid_t uid;
	unsigned int used[USER_CHARGES];
	unsigned int debt_us;
	bool slow;
	struct account account;
};

struct users {
	pthread_mutex_t lock;		/* guards all, save for atomic reads */
	struct user *buckets[USERS_BUCKETS];
	uid_t owner;
	/* user_charges.c */
	unsigned int total[USER_CHARGES];
	struct {
		unsigned int all;
		unsigned int one;
		unsigned int reserve;	/* of @all, for root and the owner */
	} limits[USER_CHARGES];
	/* user_memory.c, in bytes */
	long memory_all;
	long memory_one;
	long memory_granted;		/* to all accounts together */
	/* user_time.c */
	unsigned int nr_debtors;
	atomic_uint nr_slow;
};

/*
 * Root and @owner, the user who owns the mount, are bounded by the limits of all users together
 * alone, and have a reserve of each that the others cannot take.
 */
void users_init(uid_t owner);
/* Is the user neither root nor the owner? */
bool users_is_limited(uid_t uid);

/* ---- for the files of the three things; the lock is held ---- */

/* Where the user is linked, or would be. */
struct user **users_find(uid_t uid);
/* The same, and adds it if there is none. NULL: no memory. */
struct user *users_add(uid_t uid);
/* Forgets the user of @slot if it has nothing. */
void users_forget_unused(struct user **slot);
/* Calls @visit for each user, which may forget it. */
void users_for_each(void (*visit)(struct user **slot, unsigned int arg), unsigned int arg);

#endif
