/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_notice: a registration for the death or the freezing of a node's owner; what the
 * two have in common. notices/death.c and notices/freeze.c notify and acknowledge.
 *
 * A notice belongs to its reference (ref->death, ref->freeze, under node->lock) until it is
 * cleared, and then to the list that it is in. It is in one list at most: a todo list (to
 * be delivered), delivered_death or delivered_freeze of the process (delivered, the client's
 * _DONE is awaited), or none.
 */
#ifndef BINDER_NOTICE_H
#define BINDER_NOTICE_H

#include "common/abi.h"
#include "common/lock.h"
#include "common/work.h"
#include "entities/proc.h"

struct binder_thread;

struct binder_notice {
	struct binder_work work; /* inner_lock of proc, all but the cookie */
	struct binder_proc *proc; /* the client that registered; never changes */
	u64 cookie;		  /* never changes */
	/* freezing only */
	bool is_frozen; /* the state to deliver */
	bool sent;	/* delivered, BC_FREEZE_NOTIFICATION_DONE is awaited */
	bool resend;	/* the state changed, or the notice was cleared, meanwhile */
};

/* @type: WORK_DEATH or WORK_FREEZE. NULL: no memory, or BINDER_MAX_NOTICES. May sleep. */
struct binder_notice *binder_notice_new(struct binder_proc *proc, enum binder_work_type type,
					u64 cookie);
/* Frees a notice that was not registered. May sleep; no lock held. */
void binder_notice_discard(struct binder_notice *notice);
/* Frees a registered notice that is in no list. NULL is allowed. May sleep; no lock held. */
void binder_notice_free(struct binder_notice *notice);

/*
 * Finds the notice with @cookie in one of the lists of delivered notices and removes it;
 * NULL if there is none. @proc: the owner of the list.
 */
struct binder_notice *binder_notice_take_ilocked(struct binder_proc *proc,
						 struct bl_list *delivered, u64 cookie)
	REQUIRES(&proc->inner_lock);

/*
 * Logs a client's mistake, @command and @what, without the cookie, which may be an address;
 * -EINVAL.
 */
int binder_notice_mistake(const struct binder_thread *thread, const char *command,
			  const char *what);

/*
 * Registers with a handle, or ends a registration, whose last return code is then queued.
 * @type: WORK_DEATH or WORK_FREEZE. -EINVAL: a mistake of the client, which is logged and
 * changes nothing; -ENOMEM, also with BINDER_MAX_NOTICES registrations. May sleep; no lock held.
 */
int binder_notice_request(struct binder_thread *thread, enum binder_work_type type,
			  const struct binder_handle_cookie *arg);
int binder_notice_clear(struct binder_thread *thread, enum binder_work_type type,
			const struct binder_handle_cookie *arg);

#endif
