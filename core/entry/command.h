/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way in: the commands (BC_*) of a write buffer.
 */
#ifndef BINDER_COMMAND_H
#define BINDER_COMMAND_H

#include "common/abi.h"

struct binder_thread;

/*
 * Carries out the commands from bwr->write_consumed on, until the end of the
 * buffer, the first one that fails as such, or one that leaves the thread an
 * error to read.  bwr->write_consumed then stands behind the last one done.
 * 0; -EFAULT unreadable; -EINVAL unknown or not supported, and what the
 * handlers return.  May sleep.
 */
int binder_write(struct binder_thread *thread, struct binder_write_read *bwr);

/* The code of command number @nr (below BINDER_NR_COMMANDS): for whoever wants to
 * go through them all. */
u32 binder_command_code(u32 nr);

#endif
