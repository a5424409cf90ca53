/* SPDX-License-Identifier: GPL-2.0 */
/*
 * encode: the commands of a step as the bytes of a write buffer, with their effects on the state
 * of the client once the driver has consumed them.
 */
#ifndef DIFFERENTIAL_ENCODE_H
#define DIFFERENTIAL_ENCODE_H

#include "fixed_memory.h"

/* The bytes of the step's commands; *size of them. Writes each command to the transcript. */
uint8_t *encode(struct world *world, const struct step *step, size_t *size);
/* The driver has consumed so many of them: updates the state of the client. */
void encode_consumed(struct world *world, const struct step *step, size_t consumed);

/* A handle as the script names it. */
uint32_t resolve_handle(const struct client *client, int64_t value);

#endif
