/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire: the bytes of a stream. A number is written with 7 bits in each byte, the lowest first, and
 * the highest bit of each byte says that another one follows: small numbers, which are nearly all,
 * take one byte, and the size of a member may change without a change of the stream.
 */
#ifndef BINDER_STATE_WIRE_H
#define BINDER_STATE_WIRE_H

#include "host.h"

/* Bytes that are collected, in memory that grows. */
struct state_bytes {
	u8 *bytes;
	size_t used, room;
	bool failed; /* no memory; what is added is dropped */
};

#define STATE_NUMBER_MAX 10 /* bytes of a number */

void state_add(struct state_bytes *to, const void *bytes, size_t size);
void state_add_long_number(struct state_bytes *to, u64 value);
/* Inline, because nearly all numbers take one byte. */
static inline void state_add_number(struct state_bytes *to, u64 value)
{
	if (value <= 0x7f && to->used < to->room)
		to->bytes[to->used++] = (u8)value;
	else
		state_add_long_number(to, value);
}
/* Begins a part, whose size is written before it; returns where, for the end of it. */
size_t state_part_begin(struct state_bytes *to);
void state_part_end(struct state_bytes *to, size_t begin);
void state_bytes_free(struct state_bytes *bytes);

/* What is left to be read. */
struct state_cursor {
	const u8 *at, *end;
	bool bad; /* it ended too early, or a number was too large; what follows is zero */
};

u64 state_take_long_number(struct state_cursor *from);
static inline u64 state_take_number(struct state_cursor *from)
{
	if (from->at < from->end && !(*from->at & 0x80))
		return *from->at++;
	return state_take_long_number(from);
}
/* The next @size bytes; NULL: there are fewer. */
const u8 *state_take(struct state_cursor *from, size_t size);
/* The part that begins with its size; empty if it is too long. */
struct state_cursor state_take_part(struct state_cursor *from);

#endif
