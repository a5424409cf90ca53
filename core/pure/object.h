/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One object inside the data of a transaction: what kinds there are, how long
 * each is, and where it may stand.  Pure: no locks, no host call.
 */
#ifndef BINDER_OBJECT_H
#define BINDER_OBJECT_H

#include "common/abi.h"

/* Room for any of them. */
union binder_object {
	struct binder_object_header hdr;
	struct flat_binder_object flat;	     /* BINDER, HANDLE, both weak */
	struct binder_fd_object fd;	     /* FD */
	struct binder_buffer_object buffer;  /* PTR */
	struct binder_fd_array_object fda;   /* FDA */
};

/* Bytes of an object of type @type (BINDER_TYPE_*); 0 for an unknown type. */
size_t binder_object_size(u32 type);

/*
 * May an object stand at @off of @data_size bytes of data?  @min_off: the end
 * of the object before it in the offsets array (0 for the first).  The offset
 * must be a multiple of 4, not below @min_off (so offsets increase and objects
 * do not overlap), with room for a header.  Returns how many bytes to read from
 * there into a union binder_object, at most sizeof of it; 0 if it may not.
 */
size_t binder_object_readable(u64 off, u64 min_off, u64 data_size);

/* Is what was read (@avail bytes, from binder_object_readable()) a whole object
 * of a known type?  Returns its size in bytes, 0 if not. */
size_t binder_object_check(const union binder_object *object, size_t avail);

#endif
