/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode: the returns of a read, as text that does not depend on addresses, and recorded for the
 * client.
 */
#ifndef DIFFERENTIAL_DECODE_H
#define DIFFERENTIAL_DECODE_H

#include "fixed_memory.h"

/*
 * Write size bytes of BR_ commands that a thread of the client has read. In the client's process.
 */
void decode(struct world *world, unsigned int client, unsigned int thread, uint8_t *bytes,
	    size_t size);

#endif
