// SPDX-License-Identifier: GPL-2.0
/*
 * The size of an object depends on its type, so its end is only known when its header has
 * been read: binder_object_readable() checks what is known before, binder_object_check()
 * the rest.
 */
#include "pure/flat_object.h"
#include "base/checked.h"

static const struct {
	u32 type;
	u32 size;
} kinds[] = {
	{ BINDER_TYPE_BINDER, sizeof(struct flat_binder_object) },
	{ BINDER_TYPE_WEAK_BINDER, sizeof(struct flat_binder_object) },
	{ BINDER_TYPE_HANDLE, sizeof(struct flat_binder_object) },
	{ BINDER_TYPE_WEAK_HANDLE, sizeof(struct flat_binder_object) },
	{ BINDER_TYPE_FD, sizeof(struct binder_fd_object) },
	{ BINDER_TYPE_FDA, sizeof(struct binder_fd_array_object) },
	{ BINDER_TYPE_PTR, sizeof(struct binder_buffer_object) },
};

size_t binder_object_size(u32 type)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == type)
			return kinds[i].size;
	return 0;
}

size_t binder_object_readable(u64 off, u64 min_off, u64 data_size)
{
	u64 left;

	if (off % sizeof(u32) || off < min_off ||
	    !ck_within(off, sizeof(struct binder_object_header), data_size))
		return 0;
	left = data_size - off;
	return left < sizeof(union binder_object) ? (size_t)left : sizeof(union binder_object);
}

size_t binder_object_check(const union binder_object *object, size_t avail)
{
	size_t size;

	if (avail < sizeof(object->hdr))
		return 0;
	size = binder_object_size(object->hdr.type);
	return size <= avail ? size : 0;
}
