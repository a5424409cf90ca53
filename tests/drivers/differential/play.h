/* SPDX-License-Identifier: GPL-2.0 */
/* play: plays a script on a device, step by step. */
#ifndef DIFFERENTIAL_PLAY_H
#define DIFFERENTIAL_PLAY_H

#include "script.h"

/* The device to play on. */
struct target {
	const char *device;
	const char *stats; /* the text that counts the live opens (quiesce.h) */
	bool in_loop;	   /* have each thread enter the loop before its first step of an open */
};

/*
 * Play the script in this process and its children, and write the transcript to the file, which is
 * closed. On return all started processes have ended. If a step hangs, ends this process.
 */
void play(const struct script *script, const struct target *target, FILE *to);

#endif
