/* SPDX-License-Identifier: GPL-2.0 */
/*
 * checked_parcel: what is sent: a heading, bytes that follow from it, and up to three objects. So a
 * receiver can check that every byte is the sender's.
 */
#ifndef STORM_CHECKED_PARCEL_H
#define STORM_CHECKED_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/binder.h"

#define MAX_BYTES 8192
#define NO_HANDLE UINT32_MAX
#define NO_FILE (-1)

struct heading {
	uint32_t from, seq; /* of its call: the sender, and the number of the call there */
	uint32_t nr_bytes;
	uint32_t about; /* a member that it is about */
};

struct parcel {
	struct heading heading;
	uint64_t object;  /* an object of the sender, or 0 */
	uint32_t handle;  /* as received (for an object), or to be sent; or NO_HANDLE */
	int file;	  /* or NO_FILE */
};

/* A parcel as bytes for the driver. */
struct packed {
	_Alignas(8) uint8_t data[sizeof(struct heading) + MAX_BYTES + 128];
	binder_size_t offsets[3];
	struct binder_transaction_data txn; /* with data and offsets filled in */
};

void parcel_pack(const struct parcel *parcel, struct packed *packed);
/*
 * Unpack what was received; the test fails unless it is what parcel_pack() made. The receiver
 * closes a file in it, which has been checked to be the storm's.
 */
void parcel_unpack(const struct returned *got, struct parcel *parcel);

#endif
