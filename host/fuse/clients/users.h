/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits per user: open files, files in transactions, threads that a user blocks, memory.
 *
 * One small table under its own mutex; no function makes a system call or waits for a client.
 * Which user a process counts as is decided by caller_charged_uid().
 */
#ifndef HOST_FUSE_USERS_H
#define HOST_FUSE_USERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum user_charge {
	USER_OPENS,	/* opens of devices */
	USER_FILES,	/* files in transactions that are not delivered yet */
	USER_HANDLES,	/* opens of directories and texts, each with a copy of the contents */
	USER_STUCK,	/* workers that are stuck in this user's memory */
	USER_STALLED,	/* operations of the helper process that this user delays (helper.h) */
	USER_CHARGES,
};

/*
 * Root and this user, who owns the mount, are bounded by the limits of all users together alone,
 * and have a reserve of each that the others cannot take.
 */
void users_set_owner(uid_t owner);
/* Is the user neither root nor the owner? */
bool users_is_limited(uid_t uid);

/* Limits one charge: @all for all users together, @one for each of the others. */
void users_set_limit(enum user_charge charge, unsigned int all, unsigned int one);

/* Adds one. False: the limit of the user, or of all users together, is reached. */
bool users_charge(uid_t uid, enum user_charge charge);

/* Adds one regardless of the limits. */
void users_charge_always(uid_t uid, enum user_charge charge);

/*
 * Is the user's limit reached? The limit of each user drops to one while half of the limit of all
 * users together is used up.
 */
bool users_is_over(uid_t uid, enum user_charge charge);

/*
 * Time that the user's calls cost: page faults of a client may be served by a process that takes
 * its time, and a call with many objects needs as long. It is measured by samples: each time that a
 * worker is found to wait in the user's memory counts as the interval between two samples, and a
 * call that is found at two samples as the processor time between them. A user above USERS_SLOW_MS
 * is slow until its debt is paid by the time that passes, at a tenth of it. Root is never slow.
 */
#define USERS_SLOW_MS 30
#define USERS_DEBT_MAX_MS 400

void users_charge_time(uid_t uid, unsigned int ms);
/* @ms have passed since the last call. False: no user has a debt. */
bool users_pay(unsigned int ms);
/* Is the user slow? Costs a load as long as no user is. */
bool users_is_slow(uid_t uid);

/* Removes one. */
void users_discharge(uid_t uid, enum user_charge charge);

/* Bytes that are charged, and up to which they may grow without asking users_grant(). */
struct account {
	atomic_long used;
	atomic_long granted;
	atomic_ullong reclaimed_ns;	/* of the last search for idle pages */
};

/* Limits the memory, in bytes, of all users but root and the owner together, and of each. */
void users_set_memory(long all, long one);

/*
 * The account of a user that has something charged, valid as long as that or anything in the
 * account is; NULL: for root and the owner, whose memory is not counted.
 */
struct account *users_account(uid_t uid);

/* May the account have what is charged to it? Raises what it may have without asking again. */
bool users_grant(struct account *account);

#endif
