// SPDX-License-Identifier: GPL-2.0
/*
 * Limits per user.
 *
 * The daemon's own resources (descriptors, memory, threads) are shared by users that need not trust
 * each other. Each use is charged to the user that caused it; a user at its limit gets errors while
 * the others are served. Root has no limit of its own: it can stop the daemon anyway.
 */
#include "users.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 64u

struct user {
	struct user *next;
	uid_t uid;
	unsigned int used[USER_CHARGES];
};

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static struct user *buckets[BUCKETS];
static unsigned int total[USER_CHARGES];
static struct {
	unsigned int all;
	unsigned int one;
} limits[USER_CHARGES];

void users_set_limit(enum user_charge charge, unsigned int all, unsigned int one)
{
	limits[charge].all = all;
	limits[charge].one = one;
}

static struct user **find(uid_t uid)
{
	struct user **slot = &buckets[uid % BUCKETS];

	while (*slot && (*slot)->uid != uid)
		slot = &(*slot)->next;
	return slot;
}

static bool charge_locked(uid_t uid, enum user_charge charge, bool always)
{
	struct user **slot = find(uid);

	if (!always && total[charge] >= limits[charge].all)
		return false;
	if (!*slot) {
		struct user *user = calloc(1, sizeof(*user));

		if (!user)
			return false;
		user->uid = uid;
		*slot = user;
	}
	if (!always && uid && (*slot)->used[charge] >= limits[charge].one)
		return false;
	(*slot)->used[charge]++;
	total[charge]++;
	return true;
}

bool users_charge(uid_t uid, enum user_charge charge)
{
	bool ok;

	pthread_mutex_lock(&users_lock);
	ok = charge_locked(uid, charge, false);
	pthread_mutex_unlock(&users_lock);
	return ok;
}

void users_charge_always(uid_t uid, enum user_charge charge)
{
	pthread_mutex_lock(&users_lock);
	charge_locked(uid, charge, true);
	pthread_mutex_unlock(&users_lock);
}

bool users_is_over(uid_t uid, enum user_charge charge)
{
	unsigned int bound;
	struct user *user;
	bool over;

	pthread_mutex_lock(&users_lock);
	user = *find(uid);
	bound = total[charge] < limits[charge].all / 2 ? limits[charge].one : 1;
	over = uid && user && user->used[charge] >= bound;
	pthread_mutex_unlock(&users_lock);
	return over;
}

void users_discharge(uid_t uid, enum user_charge charge)
{
	struct user **slot;
	struct user *user;
	bool unused = true;

	pthread_mutex_lock(&users_lock);
	slot = find(uid);
	user = *slot;
	if (!user || !user->used[charge]) {	/* users_charge_always() had no memory */
		pthread_mutex_unlock(&users_lock);
		return;
	}
	user->used[charge]--;
	total[charge]--;
	for (int i = 0; i < USER_CHARGES; i++)
		unused &= !user->used[i];
	if (unused) {
		*slot = user->next;
		free(user);
	}
	pthread_mutex_unlock(&users_lock);
}
