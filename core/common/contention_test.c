// SPDX-License-Identifier: GPL-2.0
/* How often locks were taken, and how often a thread waited for one. */
#include "common/contention.h"
#include "pair.h"
#include "common/locking_mode.h"
#include "check.h"

#include <sched.h>

TEST(contention_is_counted_only_on_demand)
{
	struct binder_contention inner;
	struct pair p;

	binder_contention_command("reset");
	pair_begin(&p);
	CHECK(!binder_contention_of(RANK_INNER).taken);
	CHECK(!binder_contention_command("on"));
	pair_call(&p, 0, 1, TF_ONE_WAY, "x");
	CHECK(!binder_contention_command("off"));
	inner = binder_contention_of(RANK_INNER);
	CHECK(inner.taken && !inner.waited);
	pair_call(&p, 0, 1, TF_ONE_WAY, "y");
	CHECK(binder_contention_of(RANK_INNER).taken == inner.taken);
	CHECK(!binder_contention_command("reset"));
	CHECK(!binder_contention_of(RANK_INNER).taken);
	CHECK(binder_contention_command("of") == -EINVAL &&
	      binder_contention_command("") == -EINVAL);
	CHECK(pair_end(&p));
}

TEST(contention_counts_each_acquisition)
{
	struct binder_lock lock;
	u32 i;

	binder_lock_init(&lock, RANK_LOG);
	binder_contention_command("reset");
	binder_contention_command("on");
	for (i = 0; i < 5; i++) {
		binder_lock(&lock);
		binder_unlock(&lock);
	}
	binder_contention_command("off");
	CHECK(binder_contention_of(RANK_LOG).taken == 5);
	CHECK(!binder_contention_of(RANK_LOG).waited);
	binder_lock_destroy(&lock);
}

static struct binder_pi_mutex inheriting;

static void *pass_both(void *arg)
{
	u32 *nr_done = arg;

	binder_global_lock();
	binder_global_unlock();
	binder_pi_mutex_lock(&inheriting);
	++*nr_done;
	binder_pi_mutex_unlock(&inheriting);
	return NULL;
}

/* Waits until @nr threads have waited for a lock of @rank. */
static void wait_for_waiters(enum binder_lock_rank rank, unsigned long nr)
{
	while (binder_contention_of(rank).waited < nr)
		sched_yield();
}

/* Threads that wait for the mutex of a locking mode, and then for a PI mutex, are counted. */
TEST(contention_counts_waiting)
{
	pthread_t others[3];
	u32 i, nr_done = 0;

	binder_world_init();
	binder_pi_mutex_init(&inheriting, RANK_PAGES);
	binder_contention_command("reset");
	binder_contention_command("on");
	binder_global_lock();
	binder_pi_mutex_lock(&inheriting);
	for (i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&others[i], NULL, pass_both, &nr_done));
	wait_for_waiters(RANK_GLOBAL, 3);
	CHECK(!binder_contention_of(RANK_PAGES).waited);
	binder_global_unlock();
	wait_for_waiters(RANK_PAGES, 3);
	CHECK(!nr_done);
	binder_pi_mutex_unlock(&inheriting);
	for (i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
	binder_contention_command("off");
	CHECK(nr_done == 3);
	CHECK(binder_contention_of(RANK_GLOBAL).taken == 4);
	CHECK(binder_contention_of(RANK_GLOBAL).waited == 3);
	CHECK(binder_contention_of(RANK_PAGES).taken == 4);
	CHECK(binder_contention_of(RANK_PAGES).waited == 3);
	binder_pi_mutex_destroy(&inheriting);
}
