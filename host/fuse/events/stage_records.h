/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timestamps of the stages of round trips, in a ring where the newest records overwrite the
 * oldest. The ring is allocated when recording first starts and kept until the daemon ends.
 */
#ifndef HOST_FUSE_STAGE_RECORDS_H
#define HOST_FUSE_STAGE_RECORDS_H

#include "base/daemon_state.h"
#include "host_types.h"

#define STAGES_SLOTS 65536u

struct text;

struct stages {
	atomic_bool is_on;
	pthread_mutex_t lock;		/* of stages_start() */
	struct stages_record *ring;	/* NULL: it was never on */
	_Atomic u64 next;		/* number of the next record */
};

void stages_init(void);

/* Empties the ring and starts recording. 0 or -ENOMEM. */
int stages_start(void);
/* Stops recording; the records can still be read. */
void stages_stop(void);

/* Any thread, any engine lock held; takes no lock, and reads the clock. */
void stages_record(u32 stage, u32 id, u32 answers, s32 pid, s32 tid);

/* Writes a line per record, the oldest first, after a line with the number of lost records. */
void stages_write(struct text *text);

#endif
