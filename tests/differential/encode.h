/* SPDX-License-Identifier: GPL-2.0 */
/*
 * encode: the commands of a step as the bytes of a write buffer, with what they do to the
 * client's own books once the driver has consumed them.
 */
#ifndef DIFFERENTIAL_ENCODE_H
#define DIFFERENTIAL_ENCODE_H

#include "world.h"

/* The bytes of the step's commands; *size of them. Says each command in the transcript. */
uint8_t *encode(struct world *world, const struct step *step, size_t *size);
/* The driver has consumed so many of them: the client's books follow. */
void encode_settle(struct world *world, const struct step *step, size_t consumed);

/* A handle as the script names it. */
uint32_t resolve_handle(const struct client *client, int64_t value);

#endif
