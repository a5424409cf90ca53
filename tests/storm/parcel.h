/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parcel: what is sent: a heading, bytes that follow from it, and up to three objects. So whoever
 * receives one can tell whether every byte is the sender's.
 */
#ifndef STORM_PARCEL_H
#define STORM_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi.h"

#define MAX_BYTES 8192
#define NO_HANDLE UINT32_MAX
#define NO_FILE (-1)

struct heading {
	uint32_t from, seq; /* of the call that it belongs to: who, and its which */
	uint32_t nr_bytes;
	uint32_t about; /* a member that it tells of */
};

struct parcel {
	struct heading heading;
	uint64_t object;  /* an object of the sender's, not 0; or 0 */
	uint32_t handle;  /* as received (of what was an object), or to be sent; or NO_HANDLE */
	int file;	  /* or NO_FILE */
};

/* A parcel as bytes, ready for the driver. */
struct packed {
	uint8_t data[sizeof(struct heading) + MAX_BYTES + 128];
	binder_size_t offsets[3];
	struct binder_transaction_data txn; /* with data and offsets filled in */
};

void parcel_pack(const struct parcel *parcel, struct packed *packed);
/*
 * Take apart what was received; the test fails unless it is what parcel_pack() made. A file in
 * it is the receiver's to close, and has been seen to be the storm's.
 */
void parcel_unpack(const struct binder_transaction_data *txn, struct parcel *parcel);

#endif
