// SPDX-License-Identifier: GPL-2.0
/* The scale of priorities; calls/inherit_test.c tests their inheritance. */
#include "pure/priority_flags.h"
#include "common/abi.h"
#include "check.h"

#define NICE(n) ((struct host_priority){ .policy = 0, .prio = (n) })
#define FIFO(n) ((struct host_priority){ .policy = 1, .prio = (n) })

TEST(priority_of_invalid_flags)
{
	const u32 fifo = 1 << FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT;
	const u32 none[] = { 20, 127, 128, 235, fifo, fifo | 100, fifo | 255 };
	u32 i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(binder_priority_above(NICE(19), binder_priority_of_flags(none[i])));
	CHECK(!binder_priority_above(NICE(19), binder_priority_of_flags(19)));
	CHECK(binder_priority_above(binder_priority_of_flags(236), NICE(-19)));
	CHECK(binder_priority_above(binder_priority_of_flags(fifo | 99), FIFO(98)));
}
