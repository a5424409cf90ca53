// SPDX-License-Identifier: GPL-2.0
/* The bound of death requests; the conformance suite has the rules. */
#include "pair.h"
#include "check.h"

#define COOKIE 0x5151

/* The client acquires handle 0 and requests a death notification. */
static void request(struct pair *p)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = COOKIE };

	world_command(p->c, BC_ENTER_LOOPER, NULL);
	world_command(p->c, BC_ACQUIRE, &arg.handle);
	world_command(p->c, BC_REQUEST_DEATH_NOTIFICATION, &arg);
	CHECK(world_write_read(p->c, false) == 0);
}

/* Notices that are requested and cleared, but never read, do not accumulate without limit. */
TEST(death_requests_are_limited)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = COOKIE };
	struct pair p;
	u32 nr;

	pair_begin(&p);
	request(&p);
	for (nr = 0; nr < BINDER_MAX_NOTICES + 10; nr++) {
		world_command(p.c, BC_CLEAR_DEATH_NOTIFICATION, &arg);
		world_command(p.c, BC_REQUEST_DEATH_NOTIFICATION, &arg);
		REQUIRE(world_write_read(p.c, false) == 0);
		if (p.c->arg.bwr.write_consumed < p.c->arg.bwr.write_size)
			break; /* at the limit: an error is queued */
	}
	CHECK(sim_stats.allocs < BINDER_MAX_NOTICES + 100);
	while (world_write_read(p.c, true) == 0) {
		u32 br = world_next(p.c, NULL);

		if (br == BR_ERROR)
			break;
		if (!CHECK(br == BR_CLEAR_DEATH_NOTIFICATION_DONE))
			break;
		while (world_next(p.c, NULL) == BR_CLEAR_DEATH_NOTIFICATION_DONE)
			;
	}
	CHECK(pair_end(&p));
}
