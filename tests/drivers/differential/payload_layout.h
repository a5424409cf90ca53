/* SPDX-License-Identifier: GPL-2.0 */
/* payload_layout: data, objects and offsets of a transaction, valid or with one thing wrong. */
#ifndef DIFFERENTIAL_PAYLOAD_LAYOUT_H
#define DIFFERENTIAL_PAYLOAD_LAYOUT_H

#include "fixed_memory.h"
#include "tests/lib/binder.h"

/* Lay out the payload of the command in the world's memory and point td at it. */
void payload_build(struct world *world, unsigned int client, const struct command *command,
		   struct binder_transaction_data_sg *td);

#endif
