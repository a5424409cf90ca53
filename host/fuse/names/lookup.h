/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LOOKUP: names become inodes. The LOOKUP of a device is kept until its thread has a turn
 * (lookup_turn.h); the thread waits for the reply, so that there is one for each thread at most.
 */
#ifndef HOST_FUSE_LOOKUP_H
#define HOST_FUSE_LOOKUP_H

#include "session/session.h"

#include <sys/types.h>

/* Also for lookup_turn.h. */
void lookup_init(void);

/* Starts the thread that ends turns which have lasted too long. False: no thread. */
bool lookup_start(void);

/* Replies to the request for @name, or keeps it. */
void lookup_serve(const struct request *request, const char *name);

/* Replies to all that are kept. */
void lookup_reply_to_waiting(void);

/* Thread @tid opens a device: replies to a LOOKUP that has waited for that. */
void lookup_opens(pid_t tid);

/*
 * INTERRUPT for the request @unique: if its thread was killed, replies to it. False: it is not
 * kept.
 */
bool lookup_interrupt(uint64_t unique);

#endif
