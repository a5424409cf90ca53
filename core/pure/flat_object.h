/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects in the data of a transaction: their types, their sizes and the offsets that they
 * may have. Pure: no locks, no host call.
 */
#ifndef BINDER_OBJECT_H
#define BINDER_OBJECT_H

#include "common/abi.h"

union binder_object {
	struct binder_object_header hdr;
	struct flat_binder_object flat;	     /* BINDER, HANDLE, both weak */
	struct binder_fd_object fd;	     /* FD */
	struct binder_buffer_object buffer;  /* PTR */
	struct binder_fd_array_object fda;   /* FDA */
};

/* Bytes of an object of @type (BINDER_TYPE_*); 0 for an unknown type. */
size_t binder_object_size(u32 type);

/*
 * Checks the offset @off of an object in @data_size bytes of data: it must be a multiple of
 * 4, not below @min_off, which is the end of the previous object of the offsets array (0
 * for the first), and leave room for a header. So offsets increase and objects do not
 * overlap. Returns the number of bytes to be read from there into a union binder_object,
 * at most its size; 0 if the offset is invalid.
 */
size_t binder_object_readable(u64 off, u64 min_off, u64 data_size);

/*
 * Checks @object, of which @avail bytes were read (the result of binder_object_readable()).
 * Returns its size in bytes; 0 if its type is unknown or it is longer than @avail.
 */
size_t binder_object_check(const union binder_object *object, size_t avail);

#endif
