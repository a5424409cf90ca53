// SPDX-License-Identifier: GPL-2.0
/* Debug ids. */
#include "entities/thread.h"
#include "entities/world.h"
#include "check.h"

TEST(world_ids_of_threads_are_unique)
{
	enum { CALLS = 3 * BINDER_ID_BLOCK / 2 };
	struct binder_thread one = { 0 }, other = { 0 };
	u32 last_one = 0, last_other = 0, i;

	binder_world_init();
	for (i = 0; i < CALLS; i++) {
		u32 id = binder_thread_next_id(&one), another = binder_thread_next_id(&other);

		CHECK(id > last_one && another > last_other && id != another);
		/* in blocks: consecutive but at the end of one */
		CHECK(!i || i == BINDER_ID_BLOCK || id == last_one + 1);
		CHECK(binder_next_id() > another);
		last_one = id;
		last_other = another;
	}
	/* a block with 0 in it */
	one.nr_ids = 0;
	host_atomic_set(&binder_world.last_id, -3);
	CHECK(binder_thread_next_id(&one) == (u32)-2);
	CHECK(binder_thread_next_id(&one) == (u32)-1);
	CHECK(binder_thread_next_id(&one) == 1);
}

TEST(world_ids_are_not_0)
{
	u32 id;

	binder_world_init();
	id = binder_next_id();
	CHECK(id && binder_next_id() == id + 1);
	host_atomic_set(&binder_world.last_id, -1);
	CHECK(binder_next_id() == 1);
}
