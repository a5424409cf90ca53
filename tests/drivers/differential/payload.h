/* SPDX-License-Identifier: GPL-2.0 */
/* payload: data, objects and offsets of a transaction, valid or with one thing wrong. */
#ifndef DIFFERENTIAL_PAYLOAD_H
#define DIFFERENTIAL_PAYLOAD_H

#include "tests/lib/uapi.h"
#include "world.h"

union object {
	struct binder_object_header hdr;
	struct flat_binder_object flat;
	struct binder_fd_object fd;
	struct binder_fd_array_object fda;
	struct binder_buffer_object ptr;
};

/* Lay out the payload of the command in the world's memory and point td at it. */
void payload_build(struct world *world, unsigned int client, const struct command *command,
		   struct binder_transaction_data_sg *td);

/* Size of an object of this type; 0 for an unknown type. */
size_t object_size(uint32_t type);

#endif
