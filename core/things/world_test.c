// SPDX-License-Identifier: GPL-2.0
/* Debug ids. */
#include "things/world.h"
#include "check.h"

TEST(world_ids_are_not_0)
{
	u32 id;

	binder_world_init();
	id = binder_next_id();
	CHECK(id && binder_next_id() == id + 1);
	host_atomic_set(&binder_world.last_id, -1);
	CHECK(binder_next_id() == 1);
}
