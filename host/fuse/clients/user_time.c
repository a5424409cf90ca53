// SPDX-License-Identifier: GPL-2.0
/* Time that a user's calls cost: a debt, which is paid by the time that passes. */
#include "clients/users.h"

#include "base/locks.h"

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
