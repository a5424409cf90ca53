/* SPDX-License-Identifier: GPL-2.0 */
/* play: a script is played against a device, step by step. */
#ifndef DIFFERENTIAL_PLAY_H
#define DIFFERENTIAL_PLAY_H

#include "script.h"

/* The device to play against. */
struct stage {
	const char *device;
	const char *stats; /* the text that counts the live opens (settle.h) */
};

/*
 * Play the script in this process and its children, and write the transcript to the file, which is
 * closed. Every process started has ended on return. When a step hangs, ends this process.
 */
void play(const struct script *script, const struct stage *stage, FILE *to);

#endif
