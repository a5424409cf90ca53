/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Freezing: BINDER_FREEZE stops calls into a process (senders get
 * BR_FROZEN_REPLY, one-way calls wait), BINDER_GET_FROZEN_INFO tells what came
 * meanwhile, and freeze notifications tell holders of handles.
 */
#ifndef BINDER_FREEZE_H
#define BINDER_FREEZE_H

#include "common/abi.h"
#include "common/lock.h"
#include "things/proc.h"
#include "common/work.h"

struct binder_ref;
struct binder_thread;

struct binder_freeze {
	struct binder_work work; /* inner_lock of the one who asked, all */
	struct binder_proc *proc; /* who asked */
	u64 cookie;
	bool is_frozen; /* the state to tell */
	bool sent;	/* told, BC_FREEZE_NOTIFICATION_DONE is awaited */
	bool resend;	/* the state changed (or was cleared) meanwhile */
};

/* The three commands; -EINVAL as the stock driver says; -ENOMEM, also with
 * BINDER_MAX_NOTICES registrations. */
int binder_freeze_request(struct binder_thread *thread, const struct binder_handle_cookie *arg);
int binder_freeze_clear(struct binder_thread *thread, const struct binder_handle_cookie *arg);
int binder_freeze_done(struct binder_thread *thread, u64 cookie);

/* The end of a registration that stands in no list any more.  No lock held. */
void binder_freeze_free(struct binder_freeze *freeze);

/* As binder_death_deliver_ilocked(), for BR_FROZEN_BINDER (*state) and
 * BR_CLEAR_FREEZE_NOTIFICATION_DONE (its cookie). */
bool binder_freeze_deliver_ilocked(struct binder_proc *proc, struct binder_freeze *freeze, u32 *ret,
				struct binder_frozen_state_info *state);

/* BINDER_FREEZE: all opens of the process info->pid.  0; -EINVAL no such
 * process; -EAGAIN calls were pending and the time was up (nothing is frozen);
 * BINDER_WOULD_BLOCK: wait, then binder_freeze_resume(). */
int binder_freeze_ioctl(struct binder_thread *thread, const struct binder_freeze_info *info);
int binder_freeze_resume(struct binder_thread *thread, bool timed_out, bool interrupted);
/* BINDER_GET_FROZEN_INFO. */
int binder_freeze_info(struct binder_frozen_status_info *info);
void binder_freeze_wake_ilocked(struct binder_proc *proc);
/* @proc's count of outstanding calls went to 0. */
static inline void binder_proc_idle_ilocked(struct binder_proc *proc) NO_TSA
{
	if (!bl_empty(&proc->freeze_waiters))
		binder_freeze_wake_ilocked(proc);
}

#endif
