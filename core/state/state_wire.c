// SPDX-License-Identifier: GPL-2.0
/*
 * Memory doubles as it grows, so that adding takes the same time on average. The table of numbers
 * is open: a key is at the place that its hash names, or at the next free one.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_wire.h"

static bool bytes_grow(struct state_bytes *to, size_t size)
{
	size_t room = to->room ? to->room : 256;
	u8 *bigger;

	while (room - to->used < size)
		room *= 2;
	if (room == to->room)
		return true;
	bigger = host_alloc_large(NULL, room);
	if (!bigger)
		return false;
	if (to->used)
		host_memcpy(bigger, to->bytes, to->used);
	host_free(to->bytes);
	to->bytes = bigger;
	to->room = room;
	return true;
}

void state_add(struct state_bytes *to, const void *bytes, size_t size)
{
	if (!to->failed && !bytes_grow(to, size))
		to->failed = true;
	if (to->failed)
		return;
	if (size)
		host_memcpy(to->bytes + to->used, bytes, size);
	to->used += size;
}

void state_add_long_number(struct state_bytes *to, u64 value)
{
	u8 bytes[STATE_NUMBER_MAX];
	u32 nr = 0;

	while (value > 0x7f) {
		bytes[nr++] = (u8)(value | 0x80);
		value >>= 7;
	}
	bytes[nr++] = (u8)value;
	state_add(to, bytes, nr);
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
	struct state_cursor part = { from->at, from->at, false };
	u64 size = state_take_number(from);
	const u8 *bytes;

	if (size > (size_t)(from->end - from->at))
		from->bad = true;
	bytes = from->bad ? NULL : state_take(from, (size_t)size);
	part.bad = !bytes;
	if (bytes)
		part = (struct state_cursor){ bytes, bytes + size, false };
	return part;
}

/* ---- numbers ------------------------------------------------------------------------- */

static u32 number_slot(const struct state_numbers *numbers, const void *key)
{
	u64 hash = (u64)(size_t)key * 0x9e3779b97f4a7c15ull;
	u32 at = (u32)(hash >> 32) & (numbers->room - 1);

	while (numbers->slots[at].key && numbers->slots[at].key != key)
		at = (at + 1) & (numbers->room - 1);
	return at;
}

static bool numbers_grow(struct state_numbers *numbers)
{
	struct state_numbers bigger = { .room = numbers->room ? numbers->room * 2 : 256 };
	u32 i;

	bigger.slots = host_alloc_large(NULL, bigger.room * sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (i = 0; i < numbers->room; i++) {
		if (numbers->slots[i].key)
			state_number_set(&bigger, numbers->slots[i].key, numbers->slots[i].value);
	}
	host_free(numbers->slots);
	*numbers = bigger;
	return true;
}

bool state_number_set(struct state_numbers *numbers, const void *key, u32 value)
{
	u32 at;

	if (numbers->used >= numbers->room / 2 && !numbers_grow(numbers))
		return false;
	at = number_slot(numbers, key);
	numbers->used += !numbers->slots[at].key;
	numbers->slots[at].key = key;
	numbers->slots[at].value = value;
	return true;
}

u32 state_number_get(const struct state_numbers *numbers, const void *key)
{
	if (!numbers->room || !key)
		return 0;
	return numbers->slots[number_slot(numbers, key)].value;
}

void state_numbers_free(struct state_numbers *numbers)
{
	host_free(numbers->slots);
	*numbers = (struct state_numbers){ NULL };
}
