// SPDX-License-Identifier: GPL-2.0
/*
 * The users that have something in the daemon.
 *
 * The daemon's own resources (descriptors, memory, threads) are shared by users that need not trust
 * each other. Each use is charged to the user that caused it; a user at its limit gets errors while
 * the others are served. Root and the owner of the mount have no limit of their own: they can stop
 * the daemon anyway. A user without any charge is forgotten.
 */
#include "clients/users.h"

#include "base/locks.h"

#include <pthread.h>
#include <stdlib.h>

/* Memory is granted in these portions, in bytes. */
#define GRANT ((long)1 << 20)

#define USERS_BUCKETS 64u

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
	/* counts */
	unsigned int total[USER_CHARGES];
	struct {
		unsigned int all;
		unsigned int one;
		unsigned int reserve;	/* of @all, for root and the owner */
	} limits[USER_CHARGES];
	/* memory, in bytes */
	long memory_all;
	long memory_one;
	long memory_granted;		/* to all accounts together */
	/* time */
	unsigned int nr_debtors;
	atomic_uint nr_slow;
};

void users_init(uid_t owner)
{
	struct users *users = daemon_part(users);

	pthread_mutex_init(&users->lock, NULL);
	users->owner = owner;
}

bool users_is_limited(uid_t uid)
{
	return uid && uid != daemon_self->users->owner;
}

/* Returns the place where the user is linked, or would be. Lock held. */
static struct user **users_find(uid_t uid)
{
	struct user **slot = &daemon_self->users->buckets[uid % USERS_BUCKETS];

	while (*slot && (*slot)->uid != uid)
		slot = &(*slot)->next;
	return slot;
}

/* Finds the user, or adds it. NULL: no memory. Lock held. */
static struct user *users_add(uid_t uid)
{
	struct user **slot = users_find(uid);

	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (*slot)
			(*slot)->uid = uid;
	}
	return *slot;
}

/* Forgets the user of @slot if it has nothing. Lock held. */
static void users_forget_unused(struct user **slot)
{
	struct user *user = *slot;
	bool unused = !user->debt_us && !atomic_load(&user->account.used);

	for (int i = 0; i < USER_CHARGES; i++)
		unused &= !user->used[i];
	if (unused) {
		daemon_self->users->memory_granted -= atomic_load(&user->account.granted);
		*slot = user->next;
		free(user);
	}
}

/* Calls @visit for each user, which may forget it. Lock held. */
static void users_for_each(void (*visit)(struct user **slot, unsigned int arg), unsigned int arg)
{
	for (unsigned int i = 0; i < USERS_BUCKETS; i++) {
		struct user **slot = &daemon_self->users->buckets[i];

		while (*slot) {
			struct user *user = *slot;

			visit(slot, arg);
			if (*slot == user)
				slot = &user->next;
		}
	}
}

/* ---- counts: what a user has of the daemon, by kind ---- */

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

/* ---- memory: grants ---- */

void user_memory_set_limits(long all, long one)
{
	daemon_self->users->memory_all = all;
	daemon_self->users->memory_one = one;
}

struct account *user_memory_account(uid_t uid)
{
	struct account *account = NULL;
	guard_mutex(&daemon_self->users->lock);
	struct user *user = *users_find(uid);

	if (user && users_is_limited(uid))
		account = &user->account;
	return account;
}

/* The least grant that covers @used. */
static long grant_for(const struct users *users, long used)
{
	long grant = (used + GRANT - 1) / GRANT * GRANT;

	return grant < users->memory_one ? grant : users->memory_one;
}

static void set_grant(struct users *users, struct account *account, long grant)
{
	users->memory_granted += grant - atomic_load(&account->granted);
	atomic_store(&account->granted, grant);
}

/* Withdraws what the user does not need of its grant, and forgets it if it has no charge. */
static void withdraw_grant(struct user **slot, unsigned int unused)
{
	struct account *account = &(*slot)->account;
	long grant = grant_for(daemon_self->users, atomic_load(&account->used));

	(void)unused;
	if (grant < atomic_load(&account->granted))
		set_grant(daemon_self->users, account, grant);
	users_forget_unused(slot);
}

bool user_memory_grant(struct account *account)
{
	struct users *users = daemon_self->users;
	long used = atomic_load(&account->used);
	bool ok;
	guard_mutex(&users->lock);
	long more = grant_for(users, used) - atomic_load(&account->granted);

	ok = used <= users->memory_one;
	if (ok && users->memory_granted + more > users->memory_all)
		users_for_each(withdraw_grant, 0);
	ok &= users->memory_granted + more <= users->memory_all;
	if (ok && more > 0)
		set_grant(users, account, grant_for(users, used));
	return ok;
}

/* ---- time: a debt, which is paid by the time that passes ---- */

void user_time_charge(uid_t uid, unsigned int ms)
{
	guard_mutex(&daemon_self->users->lock);
	struct user *user = *users_find(uid);

	if (user && uid) {
		daemon_self->users->nr_debtors += !user->debt_us;
		user->debt_us += ms * 1000;
		if (user->debt_us > USER_TIME_DEBT_MAX_MS * 1000)
			user->debt_us = USER_TIME_DEBT_MAX_MS * 1000;
		if (!user->slow && user->debt_us > USER_TIME_SLOW_MS * 1000) {
			user->slow = true;
			atomic_fetch_add(&daemon_self->users->nr_slow, 1);
		}
	}
}

/* Removes @paid_us of the debt. */
static void user_time_pay_one(struct user **slot, unsigned int paid_us)
{
	struct user *user = *slot;

	if (!user->debt_us)
		return;
	user->debt_us = user->debt_us > paid_us ? user->debt_us - paid_us : 0;
	if (user->debt_us)
		return;
	daemon_self->users->nr_debtors--;
	if (user->slow)
		atomic_fetch_sub(&daemon_self->users->nr_slow, 1);
	user->slow = false;
	users_forget_unused(slot);
}

bool user_time_pay(unsigned int ms)
{
	guard_mutex(&daemon_self->users->lock);
	if (daemon_self->users->nr_debtors)
		users_for_each(user_time_pay_one, ms * 100);
	return daemon_self->users->nr_debtors;
}

bool user_time_is_slow(uid_t uid)
{
	struct user *user;
	bool slow;

	if (!atomic_load_explicit(&daemon_self->users->nr_slow, memory_order_relaxed))
		return false;
	guard_mutex(&daemon_self->users->lock);
	user = *users_find(uid);
	slow = user && user->slow;
	return slow;
}
