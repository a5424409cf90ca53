// SPDX-License-Identifier: GPL-2.0
/* Objects at any offset of data of any size. */
#include "pure/flat_object.h"
#include "targets.h"

#define OBJECTS 64

typedef unsigned __int128 wide;

/* A number near the limits that matter, or any at all. */
static u64 pick(struct choices *c, u64 near)
{
	static const u64 odd[] = { 0, 4, 24, 32, 40, 1ull << 32, -1ull, -4ull, -40ull };

	switch (choose(c, 4)) {
	case 0:
		return near + choose(c, 48);
	case 1:
		return near - choose(c, 48);
	case 2:
		return odd[choose(c, sizeof(odd) / sizeof(odd[0]))];
	default:
		return choose_u64(c);
	}
}

static u32 pick_type(struct choices *c)
{
	static const u32 types[] = { BINDER_TYPE_BINDER, BINDER_TYPE_WEAK_BINDER,
				     BINDER_TYPE_HANDLE, BINDER_TYPE_WEAK_HANDLE,
				     BINDER_TYPE_FD,	 BINDER_TYPE_FDA, BINDER_TYPE_PTR };
	u32 nr = choose(c, 8);

	return nr < 7 ? types[nr] : (u32)choose_u64(c);
}

static bool one_object(struct choices *c, u64 data_size, u64 *min_off)
{
	u64 off = pick(c, *min_off);
	size_t readable = binder_object_readable(off, *min_off, data_size), size;
	union binder_object object = { .hdr.type = pick_type(c) };
	bool may = off % 4 == 0 && off >= *min_off &&
		   (wide)off + sizeof(object.hdr) <= (wide)data_size;

	if (may != !!readable)
		return fuzz_wrong("an object may stand where there is room for its header");
	if (!may)
		return true;
	if (readable > sizeof(object) || (wide)off + readable > (wide)data_size)
		return fuzz_wrong("nothing is read that is not data");
	if (readable < sizeof(object) && (wide)off + readable != (wide)data_size)
		return fuzz_wrong("as much is read as there is");
	size = binder_object_check(&object, readable);
	if (size && (size > readable || size != binder_object_size(object.hdr.type)))
		return fuzz_wrong("an object is whole");
	if (!size && binder_object_size(object.hdr.type) &&
	    binder_object_size(object.hdr.type) <= readable)
		return fuzz_wrong("a whole object of a known type is one");
	if (size)
		*min_off = off + size;
	return true;
}

bool fuzz_object(struct choices *c)
{
	u64 data_size = pick(c, 256), min_off = 0;
	bool right = true;
	u32 i;

	for (i = 0; i < OBJECTS && right && !choices_over(c); i++)
		right = one_object(c, data_size, &min_off);
	return right;
}
