/* SPDX-License-Identifier: GPL-2.0 */
/*
 * differential: what the parts of the program offer to each other. A script (script.h) is generated
 * or read, and played in a world of fixed addresses (fixed_memory.h).
 */
#ifndef DIFFERENTIAL_H
#define DIFFERENTIAL_H

#include "fixed_memory.h"
#include "script.h"
#include "tests/lib/binder.h"

/*
 * ---- encode.c: the commands of a step as the bytes of a write buffer, with their effects on the
 * state of the client once the driver has consumed them.
 */

/* The bytes of the step's commands; *size of them. Writes each command to the transcript. */
uint8_t *encode(struct world *world, const struct step *step, size_t *size);
/* The driver has consumed so many of them: updates the state of the client. */
void encode_consumed(struct world *world, const struct step *step, size_t consumed);

/* A handle as the script names it. */
uint32_t resolve_handle(const struct client *client, int64_t value);

/*
 * ---- payload_layout.c: data, objects and offsets of a transaction, valid or with one thing
 * wrong.
 */

/* Lay out the payload of the command in the world's memory and point td at it. */
void payload_build(struct world *world, unsigned int client, const struct command *command,
		   struct binder_transaction_data_sg *td);

/*
 * ---- decode.c: the returns of a read, as text that does not depend on addresses, and recorded
 * for the client.
 */

/*
 * Write size bytes of BR_ commands that a thread of the client has read. In the client's process.
 */
void decode(struct world *world, unsigned int client, unsigned int thread, uint8_t *bytes,
	    size_t size);

/*
 * ---- quiesce.c: wait until the driver has released closed opens, which it does asynchronously.
 */

/* The path of the stats of the driver that serves this directory; NULL if there are none. */
const char *quiesce_find_stats(const char *device_dir);
/* Wait until the driver counts no more than this many opens; ends the process after 10 s. */
void quiesce(const char *stats, unsigned int opens);

/* How many things of this kind (proc, thread, node, ref, death, transaction) there are. */
unsigned int quiesce_count(const char *stats, const char *what);

/* ---- play.c: plays a script on a device, step by step. ---- */

/* The device to play on. */
struct target {
	const char *device;
	const char *stats; /* the text that counts the live opens (quiesce.c) */
	bool in_loop;	   /* have each thread enter the loop before its first step of an open */
};

/*
 * Play the script in this process and its children, and write the transcript to the file, which is
 * closed. On return all started processes have ended. If a step hangs, ends this process.
 */
void play(const struct script *script, const struct target *target, FILE *to);

/*
 * ---- generate.c: makes a script from a seed. The same seed, length and omissions give the same
 * script.
 */

/* What a script must not use, for drivers that lack it. */
struct omissions {
	bool freeze_notices; /* BC_REQUEST_FREEZE_NOTIFICATION and its kin */
	bool deferral;	     /* TF_DEFER_COMPLETE in replies */
};

struct script *generate(uint64_t seed, size_t steps, const struct omissions *omit);

#endif
