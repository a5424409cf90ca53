// SPDX-License-Identifier: GPL-2.0
/* Charges: the things that a user has of the daemon, counted by kind. */
#include "clients/users.h"

#include "base/locks.h"

void user_charges_set_limit(enum user_charge charge, unsigned int all, unsigned int one)
{
	daemon_self->users->limits[charge].all = all;
	daemon_self->users->limits[charge].one = one;
	daemon_self->users->limits[charge].reserve = all >= 32 ? all / 16 : all > 3;
}

static bool add_charge(uid_t uid, enum user_charge charge, bool always)
{
	struct users *users = daemon_self->users;
	unsigned int reserve = users_is_limited(uid) ? users->limits[charge].reserve : 0;

	struct user *user;

	guard_mutex(&users->lock);
	if (!always && users->total[charge] + reserve >= users->limits[charge].all)
		return false;
	user = users_add(uid);
	if (!user)
		return false;
	if (!always && users_is_limited(uid) && user->used[charge] >= users->limits[charge].one)
		return false;
	user->used[charge]++;
	users->total[charge]++;
	return true;
}

bool user_charges_add(uid_t uid, enum user_charge charge)
{
	return add_charge(uid, charge, false);
}

bool user_charges_are_many(enum user_charge charge)
{
	guard_mutex(&daemon_self->users->lock);
	return daemon_self->users->total[charge] >= daemon_self->users->limits[charge].all / 16;
}

void user_charges_add_always(uid_t uid, enum user_charge charge)
{
	add_charge(uid, charge, true);
}

void user_charges_remove(uid_t uid, enum user_charge charge)
{
	guard_mutex(&daemon_self->users->lock);
	struct user **slot = users_find(uid);

	/* not if user_charges_add_always() had no memory */
	if (*slot && (*slot)->used[charge]) {
		(*slot)->used[charge]--;
		daemon_self->users->total[charge]--;
		users_forget_unused(slot);
	}
}

bool user_charges_is_over(uid_t uid, enum user_charge charge)
{
	struct users *users = daemon_self->users;
	unsigned int bound;
	guard_mutex(&users->lock);
	struct user *user = *users_find(uid);

	bound = users->total[charge] < users->limits[charge].all / 2 ? users->limits[charge].one
								     : 1;
	return users_is_limited(uid) && user && user->used[charge] >= bound;
}
