/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The users that have something in the daemon, in one small table under its own mutex.
 *
 * Three things are known of a user, each in a file: counts (user_charges.c), memory (user_memory.c)
 * and time (user_time.c). The files share this table. No function of them makes
 * a system call or waits for a client. namespaces_charged_uid() decides which user a process
 * counts as.
 */
#ifndef HOST_FUSE_USERS_H
#define HOST_FUSE_USERS_H

#include "base/daemon_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#define USERS_BUCKETS 64u

enum user_charge {
	USER_OPENS,	/* opens of devices */
	USER_INODES,	/* of devices and of texts that come and go */
	USER_FILES,	/* files in transactions that are not delivered yet */
	USER_HANDLES,	/* opens of directories and texts, each with a copy of the contents */
	USER_STUCK,	/* workers that are stuck in this user's memory */
	USER_STALLED,	/* operations of the helper process that this user delays (fds.h) */
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

/* ---- user_charges.c: what a user has of the daemon by number, and the limits of that ---- */

/* Limits one charge: @all for all users together, @one for each but root and the owner. */
void user_charges_set_limit(enum user_charge charge, unsigned int all, unsigned int one);

/* Adds one charge. False: the limit of the user, or of all users together, is reached. */
bool user_charges_add(uid_t uid, enum user_charge charge);

/* Is so much of the limit of all users together in use that it matters who counts as whom? */
bool user_charges_are_many(enum user_charge charge);

/* Adds one charge regardless of the limits. */
void user_charges_add_always(uid_t uid, enum user_charge charge);

/* Removes one charge. */
void user_charges_remove(uid_t uid, enum user_charge charge);

/*
 * Is the user's limit reached? The limit of each user drops to one while half of the limit of all
 * users together is used up.
 */
bool user_charges_is_over(uid_t uid, enum user_charge charge);

/*
 * ---- user_memory.c ----
 *
 * How much memory a user may have; account.h charges it. Memory is charged often, so it is counted
 * without the lock of users. A user may have what was granted to it under the lock, a MiB at a
 * time; the grants of all users are bounded together, and what a user no longer uses of its grant
 * is withdrawn when another one needs it.
 */

/* Limits the memory, in bytes, of all users but root and the owner together, and of each. */
void user_memory_set_limits(long all, long one);

/*
 * The account of a user that has something charged, valid as long as that or anything in the
 * account is; NULL: for root and the owner, whose memory is not counted.
 */
struct account *user_memory_account(uid_t uid);

/* May the account have what is charged to it? Raises what it may have without asking again. */
bool user_memory_grant(struct account *account);

/*
 * ---- user_time.c ----
 *
 * Time that a user's calls cost, and the users that cost too much of it. Page faults of a client
 * may be served by a process that takes its time, and a call with many objects needs as long. The
 * time is measured by samples: each time that a worker is found to wait in the user's memory counts
 * as the interval between two samples, and a call that is found at two samples as the processor
 * time between them. A user above USER_TIME_SLOW_MS is slow until its debt is paid by the time that
 * passes, at a tenth of it. Root is never slow.
 */

#define USER_TIME_SLOW_MS 30
#define USER_TIME_DEBT_MAX_MS 400

/* Only for a user that has something else charged: its worker's open. */
void user_time_charge(uid_t uid, unsigned int ms);
/* @ms have passed since the last call. False: no user has a debt. */
bool user_time_pay(unsigned int ms);
/* Is the user slow? Costs a load as long as no user is. */
bool user_time_is_slow(uid_t uid);

/* ---- for these files; the lock is held ---- */

/* Returns the place where the user is linked, or would be. */
struct user **users_find(uid_t uid);
/* Finds the user, or adds it. NULL: no memory. */
struct user *users_add(uid_t uid);
/* Forgets the user of @slot if it has nothing. */
void users_forget_unused(struct user **slot);
/* Calls @visit for each user, which may forget it. */
void users_for_each(void (*visit)(struct user **slot, unsigned int arg), unsigned int arg);

#endif
