/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits per user: open files, files in transactions, workers that a user's memory blocks.
 *
 * One small table under its own mutex; no function makes a system call or waits for a client.
 */
#ifndef HOST_FUSE_USERS_H
#define HOST_FUSE_USERS_H

#include <stdbool.h>
#include <sys/types.h>

enum user_charge {
	USER_OPENS,	/* opens of devices */
	USER_FILES,	/* files in transactions that are not delivered yet */
	USER_HANDLES,	/* opens of directories and texts, each with a copy of the contents */
	USER_STUCK,	/* workers that are stuck in this user's memory */
	USER_CHARGES,
};

/* Limits one charge: @all for all users together, @one for each user other than root. */
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
 * Time that the user's memory costs: page faults of a client may be served by a process that takes
 * its time. It is measured by samples: each time that a worker is found to wait in the user's
 * memory counts as the interval between two samples. A user above USERS_SLOW_MS is slow until its
 * debt is paid by the time that passes, at a tenth of it. Root is never slow.
 */
#define USERS_SLOW_MS 60
#define USERS_DEBT_MAX_MS 400

void users_charge_time(uid_t uid, unsigned int ms);
/* @ms have passed since the last call. False: no user has a debt. */
bool users_pay(unsigned int ms);
/* Is the user slow? Costs a load as long as no user is. */
bool users_is_slow(uid_t uid);

/* Removes one. */
void users_discharge(uid_t uid, enum user_charge charge);

#endif
