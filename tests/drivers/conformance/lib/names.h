/* SPDX-License-Identifier: GPL-2.0 */
/* names: numbers of the ABI to words, for messages. */
#ifndef CONFORMANCE_NAMES_H
#define CONFORMANCE_NAMES_H

#include <stdint.h>

/*
 * The name of a BR_ or BC_ command; "0x..." for an unknown one (valid until the eighth call after
 * this one).
 */
const char *command_name(uint32_t cmd);

#endif
