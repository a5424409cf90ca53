/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Freezing: BINDER_FREEZE stops calls into a process (callers get BR_FROZEN_REPLY, one-way
 * calls wait), BINDER_GET_FROZEN_INFO tells which calls arrived meanwhile, and freeze
 * notifications tell the holders of handles.
 */
#ifndef BINDER_FREEZE_H
#define BINDER_FREEZE_H

#include "common/abi.h"
#include "common/lock.h"
#include "entities/proc.h"

struct binder_notice;
struct binder_thread;

/*
 * BC_FREEZE_NOTIFICATION_DONE. -EINVAL for a mistake of the client, as the C driver returns.
 * May sleep; no lock held.
 */
int binder_freeze_done(struct binder_thread *thread, u64 cookie);

/*
 * @notice was dequeued: *@ret is BR_FROZEN_BINDER with *@state, and the notice awaits its
 * BC_FREEZE_NOTIFICATION_DONE, or BR_CLEAR_FREEZE_NOTIFICATION_DONE with the cookie of
 * *@state, and true is returned: the caller frees the notice after unlocking.
 */
bool binder_freeze_deliver_ilocked(struct binder_proc *proc, struct binder_notice *notice, u32 *ret,
				   struct binder_frozen_state_info *state)
	REQUIRES(&proc->inner_lock);

/*
 * BINDER_FREEZE of all opens of process info->pid, a number of the caller's pid namespace. 0;
 * -EINVAL no such process; -EPERM the host does not allow it, of the newest open or of an older
 * one; -EAGAIN calls were still outstanding when the time was up, and the process is not frozen;
 * BINDER_WOULD_BLOCK: the caller waits, then calls binder_freeze_resume() with 0 if it was woken,
 * or with the -EAGAIN or -EINTR that ended its wait.
 */
int binder_freeze_ioctl(struct binder_thread *thread, const struct binder_freeze_info *info);
int binder_freeze_resume(struct binder_thread *thread, int ended);
/* BINDER_GET_FROZEN_INFO of such a number. -EINVAL: no such process. */
int binder_freeze_info(const struct binder_thread *thread, struct binder_frozen_status_info *info);

#endif
