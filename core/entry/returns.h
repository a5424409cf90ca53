/* SPDX-License-Identifier: GPL-2.0 */
/*
 * returns: the return codes (BR_*) of a read buffer.
 */
#ifndef BINDER_RETURNS_H
#define BINDER_RETURNS_H

#include "common/abi.h"

struct binder_thread;

/*
 * Fills the read buffer from bwr->read_consumed on: BR_NOOP first (BR_SPAWN_LOOPER in its
 * place when the process should start a thread), then notifications and completions, and at
 * most one transaction or reply, which ends the read. 0; -EAGAIN nothing to read and
 * @nonblock; -EINTR nothing to read and @interrupted; -EFAULT; BINDER_WOULD_BLOCK: the
 * thread waits; BINDER_RESTART (core.h). By the thread's own call; may sleep; no lock held.
 */
int binder_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock,
		bool interrupted);

#endif
