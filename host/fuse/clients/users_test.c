// SPDX-License-Identifier: GPL-2.0
/* What users have of a daemon, by itself: counts, grants of memory, debts of time. */
#include "check.h"
#include "clients/users.h"

#include <stdlib.h>

#define OWNER 500
#define USER 1000
#define OTHER 1001
#define MIB ((long)1 << 20)

static unsigned int add_many(uid_t uid, unsigned int wanted)
{
	unsigned int added = 0;

	while (added < wanted && user_charges_add(uid, USER_OPENS))
		added++;
	return added;
}

static void remove_many(uid_t uid, unsigned int count)
{
	while (count--)
		user_charges_remove(uid, USER_OPENS);
}

/* Charges @size bytes to @account if it may have them. */
static bool charges(struct account *account, long size)
{
	if (atomic_fetch_add(&account->used, size) + size <= atomic_load(&account->granted) ||
	    user_memory_grant(account))
		return true;
	atomic_fetch_sub(&account->used, size);
	return false;
}

static void init(void)
{
	users_init(OWNER);
	user_charges_set_limit(USER_OPENS, 16, 4);
	user_memory_set_limits(8 * MIB, 4 * MIB);
}

TEST(users_each_has_a_limit_and_all_together_have_one)
{
	CHECK(add_many(USER, 10) == 4 && add_many(OTHER, 10) == 4);
	CHECK(!user_charges_add(USER, USER_OPENS) && user_charges_is_over(USER, USER_OPENS));
	/* the owner is bounded by what is left */
	CHECK(add_many(OWNER, 100) == 8);
	remove_many(USER, 1);
	CHECK(!user_charges_add(USER, USER_OPENS));	/* the reserve */
	CHECK(user_charges_add(0, USER_OPENS));
	remove_many(USER, 3);
	remove_many(OTHER, 4);
	remove_many(OWNER, 8);
	remove_many(0, 1);
	CHECK(add_many(USER, 10) == 4);
	remove_many(USER, 4);
}

TEST(users_are_over_with_one_when_half_of_all_is_used)
{
	CHECK(add_many(USER, 4) == 4 && add_many(USER + 2, 1) == 1);
	CHECK(user_charges_is_over(USER, USER_OPENS));
	CHECK(!user_charges_is_over(USER + 2, USER_OPENS));
	CHECK(add_many(OTHER, 3) == 3 && add_many(OWNER, 1) == 1);
	CHECK(user_charges_is_over(USER + 2, USER_OPENS));
	CHECK(!user_charges_is_over(OWNER, USER_OPENS));
	CHECK(!user_charges_is_over(USER + 3, USER_OPENS));	/* it has none */
	remove_many(USER, 4);
	CHECK(!user_charges_is_over(USER + 2, USER_OPENS));
	remove_many(USER + 2, 1);
	remove_many(OTHER, 3);
	remove_many(OWNER, 1);
}

TEST(users_memory_that_one_does_not_use_goes_to_another)
{
	struct account *first, *second, *third;

	CHECK(!user_memory_account(USER));
	for (uid_t uid = USER; uid < USER + 3; uid++)
		CHECK(user_charges_add(uid, USER_OPENS));
	first = user_memory_account(USER);
	second = user_memory_account(USER + 1);
	third = user_memory_account(USER + 2);
	REQUIRE(first && second && third);
	CHECK(charges(first, 4 * MIB) && !charges(first, 1));
	CHECK(charges(second, 4 * MIB) && !charges(third, 1));
	atomic_fetch_sub(&first->used, 3 * MIB);
	CHECK(charges(third, 3 * MIB) && !charges(first, 1));
	atomic_fetch_sub(&first->used, MIB);
	atomic_fetch_sub(&second->used, 4 * MIB);
	atomic_fetch_sub(&third->used, 3 * MIB);
	for (uid_t uid = USER; uid < USER + 3; uid++)
		user_charges_remove(uid, USER_OPENS);
	CHECK(!user_memory_account(USER));
}

TEST(users_have_no_more_memory_than_one_may)
{
	struct account *account;

	user_memory_set_limits(8 * MIB, 4 * MIB - 100);
	CHECK(user_charges_add(USER, USER_OPENS));
	account = user_memory_account(USER);
	REQUIRE(account);
	CHECK(charges(account, 4 * MIB - 100) && !charges(account, 1));
	atomic_fetch_sub(&account->used, 4 * MIB - 100);
	user_charges_remove(USER, USER_OPENS);
}

TEST(users_root_is_never_slow_and_has_no_account_nor_has_the_owner)
{
	CHECK(!user_charges_are_many(USER_OPENS));
	CHECK(user_charges_add(0, USER_OPENS) && user_charges_add(OWNER, USER_OPENS));
	CHECK(user_charges_are_many(USER_OPENS));
	CHECK(!user_memory_account(0) && !user_memory_account(OWNER));
	user_time_charge(0, 10 * USER_TIME_SLOW_MS);
	CHECK(!user_time_is_slow(0));
	user_charges_remove(0, USER_OPENS);
	user_charges_remove(OWNER, USER_OPENS);
}

TEST(users_slow_ones_pay_a_tenth_of_the_time_that_passes)
{
	CHECK(user_charges_add(USER, USER_OPENS));
	user_time_charge(USER, USER_TIME_SLOW_MS);
	CHECK(!user_time_is_slow(USER));
	user_time_charge(USER, 1);
	CHECK(user_time_is_slow(USER) && !user_time_is_slow(OTHER));
	CHECK(user_time_pay(10 * USER_TIME_SLOW_MS) && user_time_is_slow(USER));
	CHECK(!user_time_pay(10) && !user_time_is_slow(USER));
	user_time_charge(USER, 10 * USER_TIME_DEBT_MAX_MS);
	CHECK(!user_time_pay(10 * USER_TIME_DEBT_MAX_MS));
	user_charges_remove(USER, USER_OPENS);
}

TEST(users_of_two_daemons_have_nothing_in_common)
{
	struct daemon *first = daemon_self;
	struct daemon second = { 0 };

	CHECK(add_many(USER, 10) == 4);
	user_time_charge(USER, USER_TIME_SLOW_MS + 1);
	CHECK(charges(user_memory_account(USER), 4 * MIB));
	daemon_self = &second;
	init();
	CHECK(!user_memory_account(USER) && !user_time_is_slow(USER));
	CHECK(add_many(USER, 10) == 4);
	CHECK(charges(user_memory_account(USER), 4 * MIB));
	atomic_store(&user_memory_account(USER)->used, 0);
	remove_many(USER, 4);
	free(second.users);
	daemon_self = first;
	CHECK(user_time_is_slow(USER) && user_charges_is_over(USER, USER_OPENS));
	CHECK(!charges(user_memory_account(USER), 1));
	atomic_store(&user_memory_account(USER)->used, 0);
	user_time_pay(10 * USER_TIME_DEBT_MAX_MS);
	remove_many(USER, 4);
}

static void end(void)
{
	free(daemon_self->users);
}

int main(int argc, char **argv)
{
	struct daemon daemon = { 0 };

	(void)argc;
	daemon_self = &daemon;
	return unit_run(argv + 1, init, end);
}
