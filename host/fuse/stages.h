/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stages: the records of where calls are on their way (core/stage.h), in a ring where the newest
 * take the place of the oldest. It exists from when it is first wanted until the daemon ends.
 */
#ifndef HOST_FUSE_STAGES_H
#define HOST_FUSE_STAGES_H

#include "host_types.h"

#define STAGES_SLOTS 65536u

struct text;

/* Starts anew with nothing in the ring. -ENOMEM. */
int stages_start(void);
/* What is in the ring stays to be read. */
void stages_stop(void);

/* From any thread at any time; takes no lock and makes one system call, for the time, at most. */
void stages_record(u32 stage, u32 id, u32 answers, s32 pid, s32 tid);

/* A line for each record, the oldest first; before them, how many are lost. */
void stages_write(struct text *text);

#endif
