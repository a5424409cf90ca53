/* SPDX-License-Identifier: GPL-2.0 */
/* What a user has of the daemon by number, and the limits of that. */
#ifndef HOST_FUSE_USER_CHARGES_H
#define HOST_FUSE_USER_CHARGES_H

#include "clients/users.h"

/* Limits one charge: @all for all users together, @one for each but root and the owner. */
void user_charges_set_limit(enum user_charge charge, unsigned int all, unsigned int one);

/* Adds one. False: the limit of the user, or of all users together, is reached. */
bool user_charges_add(uid_t uid, enum user_charge charge);

/* Adds one regardless of the limits. */
void user_charges_add_always(uid_t uid, enum user_charge charge);

/* Removes one. */
void user_charges_remove(uid_t uid, enum user_charge charge);

/*
 * Is the user's limit reached? The limit of each user drops to one while half of the limit of all
 * users together is used up.
 */
bool user_charges_is_over(uid_t uid, enum user_charge charge);

#endif
