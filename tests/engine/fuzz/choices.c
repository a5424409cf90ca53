// SPDX-License-Identifier: GPL-2.0
/*
 * A choice among up to 256 takes one byte, among more two bytes. Few bytes per decision make short
 * inputs, which a fuzzer searches well.
 */
#include "targets.h"
#include "check.h"

static u32 next_byte(struct choices *c)
{
	if (!c->left)
		return 0;
	c->left--;
	return *c->bytes++;
}

u32 choose(struct choices *c, u32 sides)
{
	u32 value;

	if (!c->bytes)
		return unit_random(&c->seed) % sides;
	value = next_byte(c);
	if (sides > 256)
		value |= next_byte(c) << 8;
	return value % sides;
}

u64 choose_u64(struct choices *c)
{
	u64 value = 0;
	u32 i;

	for (i = 0; i < 4; i++)
		value = value << 16 | choose(c, 65536);
	return value;
}
