// SPDX-License-Identifier: GPL-2.0
/* Locking modes: their names, and calls under the mutex of a mode. */
#include "pair.h"
#include "common/locking_mode.h"
#include "check.h"

TEST(locking_mode_names)
{
	static const char *const none[] = { "", "fin", "fine ", "finer", "global-", "GLOBAL" };
	enum binder_locking_mode mode = LOCKING_COUNT;
	u32 i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(!binder_locking_mode_parse(none[i], &mode) && mode == LOCKING_COUNT);
	for (i = 0; i < LOCKING_COUNT; i++)
		CHECK(binder_locking_mode_parse(binder_locking_mode_name(i), &mode) &&
		      mode == i);
}

/* Returns whether this thread holds the mutex. */
static bool is_held(void)
{
	return *host_lock_ranks() & 1u << RANK_GLOBAL;
}

TEST(locking_mode_mutex_is_released_while_a_call_waits)
{
	bool before = sim_locking_global;
	struct binder_transaction_data tr;
	struct pair p;

	sim_locking_global = true;
	pair_begin(&p);
	CHECK(p.s->parked && !is_held());
	CHECK(pair_call(&p, 0, 7, 0, "question") == BINDER_WOULD_BLOCK);
	CHECK(!is_held());
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	CHECK(pair_has_data(p.s, &tr, "question"));
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "answer");
	REQUIRE(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	REQUIRE(pair_expect(p.c, BR_REPLY, &tr));
	CHECK(pair_has_data(p.c, &tr, "answer"));
	CHECK(pair_end(&p));
	CHECK(!is_held());
	sim_locking_global = before;
}

/* Under the mutex, the rank checker allows operations that sleep or free. */
TEST(locking_mode_mutex_is_outermost)
{
	binder_global_lock();
	CHECK(is_held());
	binder_assert_unlocked();
	binder_global_unlock();
	CHECK(!is_held());
}
