// SPDX-License-Identifier: GPL-2.0
/* Grants: how much memory a user may have of the daemon. */
#include "clients/users.h"

#include "base/locks.h"

#define GRANT ((long)1 << 20)

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
