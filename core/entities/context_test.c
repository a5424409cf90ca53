// SPDX-License-Identifier: GPL-2.0
/* Contexts: becoming context manager. */
#include "pair.h"
#include "check.h"

TEST(context_has_one_manager)
{
	struct pair p;

	pair_begin(&p);
	CHECK(world_become_manager(p.c) == -EBUSY);
	world_kill(p.server);
	p.client->sim->euid = 1001;
	CHECK(world_become_manager(p.c) == -EPERM); /* another user than before */
	CHECK(world_ioctl(p.c, BINDER_SET_INHERIT_FIFO_PRIO, NULL) == -EPERM);
	p.client->sim->euid = 1000;
	CHECK(world_become_manager(p.c) == 0);
	CHECK(pair_end(&p));
}
