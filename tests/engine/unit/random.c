// SPDX-License-Identifier: GPL-2.0
/* Pseudo-random numbers, the same on every run: xorshift of 64 bits. */
#include "check.h"

uint32_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}
