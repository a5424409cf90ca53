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
#include <stdatomic.h>
#include <stdlib.h>

#define BUCKETS 64u

struct user {
	struct user *next;
	uid_t uid;
	unsigned int used[USER_CHARGES];
	unsigned int debt_us;
	bool slow;
};

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static struct user *buckets[BUCKETS];
static unsigned int total[USER_CHARGES];
static unsigned int nr_debtors;
static atomic_uint nr_slow;
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

static void free_if_unused(struct user **slot)
{
	struct user *user = *slot;
	bool unused = !user->debt_us;

	for (int i = 0; i < USER_CHARGES; i++)
		unused &= !user->used[i];
	if (unused) {
		*slot = user->next;
		free(user);
	}
}

void users_discharge(uid_t uid, enum user_charge charge)
{
	struct user **slot;

	pthread_mutex_lock(&users_lock);
	slot = find(uid);
	/* not if users_charge_always() had no memory */
	if (*slot && (*slot)->used[charge]) {
		(*slot)->used[charge]--;
		total[charge]--;
		free_if_unused(slot);
	}
	pthread_mutex_unlock(&users_lock);
}

/* Only for a user that has something else charged: its worker's open. */
void users_charge_time(uid_t uid, unsigned int ms)
{
	struct user *user;

	pthread_mutex_lock(&users_lock);
	user = *find(uid);
	if (user && uid) {
		nr_debtors += !user->debt_us;
		user->debt_us += ms * 1000;
		if (user->debt_us > USERS_DEBT_MAX_MS * 1000)
			user->debt_us = USERS_DEBT_MAX_MS * 1000;
		if (!user->slow && user->debt_us > USERS_SLOW_MS * 1000) {
			user->slow = true;
			atomic_fetch_add(&nr_slow, 1);
		}
	}
	pthread_mutex_unlock(&users_lock);
}

/* Removes @paid_us of the debt. */
static void pay(struct user **slot, unsigned int paid_us)
{
	struct user *user = *slot;

	user->debt_us = user->debt_us > paid_us ? user->debt_us - paid_us : 0;
	if (user->debt_us)
		return;
	nr_debtors--;
	if (user->slow)
		atomic_fetch_sub(&nr_slow, 1);
	user->slow = false;
	free_if_unused(slot);
}

bool users_pay(unsigned int ms)
{
	bool any;

	pthread_mutex_lock(&users_lock);
	for (unsigned int i = 0; nr_debtors && i < BUCKETS; i++) {
		struct user **slot = &buckets[i];

		while (*slot) {
			struct user *user = *slot;

			if (user->debt_us)
				pay(slot, ms * 100);
			if (*slot == user)
				slot = &user->next;
		}
	}
	any = nr_debtors;
	pthread_mutex_unlock(&users_lock);
	return any;
}

bool users_is_slow(uid_t uid)
{
	struct user *user;
	bool slow;

	if (!atomic_load_explicit(&nr_slow, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&users_lock);
	user = *find(uid);
	slow = user && user->slow;
	pthread_mutex_unlock(&users_lock);
	return slow;
}
