/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each user has taken of the daemon: open files, files on their way, workers held up.
 *
 * One small table under its own mutex; nothing here makes a system call or waits.
 */
#ifndef HOST_FUSE_USERS_H
#define HOST_FUSE_USERS_H

#include <stdbool.h>
#include <sys/types.h>

enum user_charge {
	USER_OPENS,	/* opens of devices */
	USER_FILES,	/* files inside transactions that are not delivered yet */
	USER_HANDLES,	/* opens of directories and texts: each holds a copy */
	USER_STUCK,	/* workers that wait in this user's memory */
	USER_CHARGES,
};

/* The bounds: of one charge for all users together, and for one user other than root. */
void users_set_limit(enum user_charge charge, unsigned int all, unsigned int one);

/* Takes one. False: the user, or all together, have reached the bound. */
bool users_charge(uid_t uid, enum user_charge charge);

/* Takes one that cannot be refused. */
void users_charge_always(uid_t uid, enum user_charge charge);

/*
 * Has the user reached his bound? Once half of what there is for all is taken, one is the bound of
 * each.
 */
bool users_is_over(uid_t uid, enum user_charge charge);

/* Gives one back. */
void users_discharge(uid_t uid, enum user_charge charge);

#endif
