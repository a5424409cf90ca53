/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timestamps of the stages of round trips, as lines of text. They are in the ring of the stream of
 * events, where the newest overwrite the oldest.
 */
#ifndef HOST_FUSE_STAGE_RECORDS_H
#define HOST_FUSE_STAGE_RECORDS_H

#include <stdbool.h>

struct text;

void stages_init(void);

/* Forgets what was recorded, and records. 0, -ENOMEM, -EMFILE: too many readers of events. */
int stages_start(void);
/* Stops recording; the records can still be read. */
void stages_stop(void);
bool stages_are_on(void);

/* Writes a line per record, the oldest first, after a line with the number of lost records. */
void stages_write(struct text *text);

#endif
