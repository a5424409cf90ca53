/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The users that have something in the daemon, in one small table under its own mutex.
 *
 * Three things are known of a user: counts, memory and time. No function makes a system call or
 * waits for a client. namespaces_charged_uid() decides which user a process counts as.
 */
#ifndef HOST_FUSE_USERS_H
#define HOST_FUSE_USERS_H

#include "base/daemon_state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

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

/*
 * Root and @owner, the user who owns the mount, are bounded by the limits of all users together
 * alone, and have a reserve of each that the others cannot take.
 */
void users_init(uid_t owner);
/* Is the user neither root nor the owner? */
bool users_is_limited(uid_t uid);

/* ---- counts: what a user has of the daemon, by kind, and the limits of that ---- */

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
 * ---- memory ----
 *
 * How much memory a user may have; user_account.h charges it. Memory is charged often, so it is
 * counted without the lock of users. A user may have what was granted to it under the lock, a MiB
 * at a time; the grants of all users are bounded together, and what a user no longer uses of its
 * grant is withdrawn when another one needs it.
 */

/* Limits the memory, in bytes, of all users but root and the owner together, and of each. */
void user_memory_set_limits(long all, long one);

/*
 * The account of a user who has something charged, valid as long as anything is charged to the user
 * or to the account. NULL: for root and the owner, whose memory is not counted.
 */
struct account *user_memory_account(uid_t uid);

/*
 * May the account have what is charged to it? Raises the bound up to which it need not ask again.
 */
bool user_memory_grant(struct account *account);

/*
 * ---- time ----
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

#endif
