// SPDX-License-Identifier: GPL-2.0
/*
 * Memory doubles as it grows, so that adding takes the same time on average.
 */
#include "state/state_wire.h"

static void bytes_reserve(struct state_bytes *to, size_t size)
{
	size_t room = to->room ? to->room : 256;
	u8 *bigger;

	while (room - to->used < size)
		room *= 2;
	if (room == to->room || to->failed)
		return;
	bigger = host_alloc_large(NULL, room);
	to->failed = !bigger;
	if (to->failed)
		return;
	if (to->used)
		host_memcpy(bigger, to->bytes, to->used);
	host_free(to->bytes);
	to->bytes = bigger;
	to->room = room;
}

void state_add(struct state_bytes *to, const void *bytes, size_t size)
{
	bytes_reserve(to, size);
	if (to->failed)
		return;
	if (size)
		host_memcpy(to->bytes + to->used, bytes, size);
	to->used += size;
}

/* Returns how many bytes of @bytes the number takes. */
static u32 encode_number(u8 *bytes, u64 value)
{
	u32 nr = 0;

	while (value > 0x7f) {
		bytes[nr++] = (u8)(value | 0x80);
		value >>= 7;
	}
	bytes[nr++] = (u8)value;
	return nr;
}

void state_add_long_number(struct state_bytes *to, u64 value)
{
	u8 bytes[STATE_NUMBER_MAX];

	state_add(to, bytes, encode_number(bytes, value));
}

size_t state_part_begin(struct state_bytes *to)
{
	state_add_number(to, 0); /* nearly all parts have a size of one byte */
	return to->used;
}

void state_part_end(struct state_bytes *to, size_t begin)
{
	u8 bytes[STATE_NUMBER_MAX];
	size_t size = to->used - begin;
	u32 more = encode_number(bytes, size) - 1;

	bytes_reserve(to, more);
	if (to->failed)
		return;
	while (more && size--)
		to->bytes[begin + more + size] = to->bytes[begin + size];
	host_memcpy(to->bytes + begin - 1, bytes, more + 1);
	to->used += more;
}

void state_bytes_free(struct state_bytes *bytes)
{
	host_free(bytes->bytes);
	*bytes = (struct state_bytes){ NULL };
}

u64 state_take_long_number(struct state_cursor *from)
{
	u64 value = 0;
	u32 shift;

	for (shift = 0; from->at < from->end && shift < 64; shift += 7) {
		u64 bits = *from->at & 0x7f;

		if (shift == 63 && bits > 1)
			break;
		value |= bits << shift;
		if (!(*from->at++ & 0x80))
			return value;
	}
	from->bad = true;
	return 0;
}

const u8 *state_take(struct state_cursor *from, size_t size)
{
	const u8 *bytes = from->at;

	if (from->bad || size > (size_t)(from->end - from->at)) {
		from->bad = true;
		return NULL;
	}
	from->at += size;
	return bytes;
}

struct state_cursor state_take_part(struct state_cursor *from)
{
	u64 size = state_take_number(from);
	const u8 *bytes;

	if (size > (size_t)(from->end - from->at))
		from->bad = true;
	bytes = state_take(from, (size_t)size);
	if (!bytes)
		return (struct state_cursor){ from->at, from->at, true };
	return (struct state_cursor){ bytes, bytes + size, false };
}
