// SPDX-License-Identifier: GPL-2.0
/*
 * Limits per user.
 *
 * The daemon's own resources (descriptors, memory, threads) are shared by users that need not trust
 * each other. Each use is charged to the user that caused it; a user at its limit gets errors while
 * the others are served. Root and the owner of the mount have no limit of their own: they can stop
 * the daemon anyway.
 *
 * Memory is charged often, so it is counted without the lock. A user may have what was granted to
 * it under the lock, GRANT bytes at a time; the grants of all users are bounded together, and what
 * a user no longer uses of its grant is withdrawn when another one needs it.
 */
#include "clients/users.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BUCKETS 64u

#define GRANT ((long)1 << 20)

struct user {
	struct user *next;
	uid_t uid;
	unsigned int used[USER_CHARGES];
	unsigned int debt_us;
	bool slow;
	struct account account;
};

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static struct user *buckets[BUCKETS];
static unsigned int total[USER_CHARGES];
static unsigned int nr_debtors;
static atomic_uint nr_slow;
static struct {
	unsigned int all;
	unsigned int one;
	unsigned int reserve;	/* of @all, for root and the owner */
} limits[USER_CHARGES];
static uid_t owner_uid;
static long memory_all;
static long memory_one;
static long memory_granted;	/* to all accounts together */

bool users_is_limited(uid_t uid)
{
	return uid && uid != owner_uid;
}

void users_set_owner(uid_t owner)
{
	owner_uid = owner;
}

void users_set_limit(enum user_charge charge, unsigned int all, unsigned int one)
{
	limits[charge].all = all;
	limits[charge].one = one;
	limits[charge].reserve = all >= 32 ? all / 16 : all > 3;
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
	unsigned int reserve = users_is_limited(uid) ? limits[charge].reserve : 0;

	if (!always && total[charge] + reserve >= limits[charge].all)
		return false;
	if (!*slot) {
		struct user *user = calloc(1, sizeof(*user));

		if (!user)
			return false;
		user->uid = uid;
		*slot = user;
	}
	if (!always && users_is_limited(uid) && (*slot)->used[charge] >= limits[charge].one)
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
	over = users_is_limited(uid) && user && user->used[charge] >= bound;
	pthread_mutex_unlock(&users_lock);
	return over;
}

static void free_if_unused(struct user **slot)
{
	struct user *user = *slot;
	bool unused = !user->debt_us && !atomic_load(&user->account.used);

	for (int i = 0; i < USER_CHARGES; i++)
		unused &= !user->used[i];
	if (unused) {
		memory_granted -= atomic_load(&user->account.granted);
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

void users_set_memory(long all, long one)
{
	memory_all = all;
	memory_one = one;
}

struct account *users_account(uid_t uid)
{
	struct account *account = NULL;
	struct user *user;

	pthread_mutex_lock(&users_lock);
	user = *find(uid);
	if (user && users_is_limited(uid))
		account = &user->account;
	pthread_mutex_unlock(&users_lock);
	return account;
}

/* The least grant that covers @used. */
static long grant_for(long used)
{
	long grant = (used + GRANT - 1) / GRANT * GRANT;

	return grant < memory_one ? grant : memory_one;
}

static void set_grant(struct account *account, long grant)
{
	memory_granted += grant - atomic_load(&account->granted);
	atomic_store(&account->granted, grant);
}

/* Withdraws what no user needs of its grant, and forgets users without any charge. */
static void withdraw_grants(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		struct user **slot = &buckets[i];

		while (*slot) {
			struct user *user = *slot;
			long grant = grant_for(atomic_load(&user->account.used));

			if (grant < atomic_load(&user->account.granted))
				set_grant(&user->account, grant);
			free_if_unused(slot);
			if (*slot == user)
				slot = &user->next;
		}
	}
}

bool users_grant(struct account *account)
{
	long used = atomic_load(&account->used);
	long more;
	bool ok;

	pthread_mutex_lock(&users_lock);
	more = grant_for(used) - atomic_load(&account->granted);
	ok = used <= memory_one;
	if (ok && memory_granted + more > memory_all)
		withdraw_grants();
	ok &= memory_granted + more <= memory_all;
	if (ok && more > 0)
		set_grant(account, grant_for(used));
	pthread_mutex_unlock(&users_lock);
	return ok;
}
