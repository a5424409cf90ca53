// SPDX-License-Identifier: GPL-2.0
/* What is counted of locks: how often taken, how often found taken. */
#include "contention.h"
#include "pair.h"
#include "regime.h"
#include "unit/test.h"

#include <sched.h>

TEST(contention_is_counted_only_on_demand)
{
	struct binder_contention inner;
	struct pair p;

	binder_contention_obey("reset");
	pair_begin(&p);
	CHECK(!binder_contention_of(RANK_INNER).taken);
	CHECK(!binder_contention_obey("on"));
	pair_call(&p, 0, 1, TF_ONE_WAY, "x");
	CHECK(!binder_contention_obey("off"));
	inner = binder_contention_of(RANK_INNER);
	CHECK(inner.taken && !inner.waited);
	pair_call(&p, 0, 1, TF_ONE_WAY, "y");
	CHECK(binder_contention_of(RANK_INNER).taken == inner.taken);
	CHECK(!binder_contention_obey("reset"));
	CHECK(!binder_contention_of(RANK_INNER).taken);
	CHECK(binder_contention_obey("of") == -EINVAL && binder_contention_obey("") == -EINVAL);
	CHECK(pair_end(&p));
}

TEST(contention_counts_each_taking)
{
	struct binder_lock lock;
	u32 i;

	binder_lock_init(&lock, RANK_LOG);
	binder_contention_obey("reset");
	binder_contention_obey("on");
	for (i = 0; i < 5; i++) {
		binder_lock(&lock);
		binder_unlock(&lock);
	}
	binder_contention_obey("off");
	CHECK(binder_contention_of(RANK_LOG).taken == 5);
	CHECK(!binder_contention_of(RANK_LOG).waited);
	binder_lock_destroy(&lock);
}

static void *call_in(void *arg)
{
	bool *done = arg;

	binder_regime_lock();
	__atomic_store_n(done, true, __ATOMIC_SEQ_CST);
	binder_regime_unlock();
	return NULL;
}

/* Somebody who holds the regime's mutex keeps others out, and that is counted. */
TEST(contention_counts_waiting)
{
	pthread_t others[3];
	bool done = false;
	u32 i;

	binder_world_init();
	binder_contention_obey("reset");
	binder_contention_obey("on");
	binder_regime_lock();
	for (i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&others[i], NULL, call_in, &done));
	while (binder_contention_of(RANK_REGIME).waited < 3)
		sched_yield();
	CHECK(!__atomic_load_n(&done, __ATOMIC_SEQ_CST));
	binder_regime_unlock();
	for (i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
	binder_contention_obey("off");
	CHECK(done);
	CHECK(binder_contention_of(RANK_REGIME).taken == 4);
	CHECK(binder_contention_of(RANK_REGIME).waited == 3);
}
