/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way out: the return codes (BR_*) of a read buffer.
 */
#ifndef BINDER_RETURNS_H
#define BINDER_RETURNS_H

#include "common/abi.h"

struct binder_thread;

/*
 * Fills the read buffer from bwr->read_consumed on with what there is to tell
 * @thread: BR_NOOP first (BR_SPAWN_LOOPER in its place when the process should
 * start a thread), then notices and completions, at most one transaction or
 * reply, which ends it.  0; -EAGAIN nothing to tell and @nonblock; -EINTR
 * nothing to tell and @interrupted; -EFAULT; BINDER_WOULD_BLOCK: the thread is
 * now known to wait; BINDER_RESTART (core.h).  May sleep.
 */
int binder_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock,
		bool interrupted);

#endif
