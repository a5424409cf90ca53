/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Death notifications: BC_REQUEST_DEATH_NOTIFICATION asks to be told when the
 * owner of a handle's node dies; BR_DEAD_BINDER tells, BC_DEAD_BINDER_DONE
 * answers, BC_CLEAR_DEATH_NOTIFICATION takes the request back.
 */
#ifndef BINDER_DEATH_H
#define BINDER_DEATH_H

#include "common/abi.h"
#include "common/lock.h"
#include "things/node.h"
#include "things/node.h"
#include "common/work.h"

struct binder_proc;
struct binder_ref;
struct binder_thread;

struct binder_death {
	struct binder_work work; /* inner_lock of the one who asked */
	struct binder_proc *proc; /* who asked */
	u64 cookie;
};

/* The three commands.  A user's mistake is logged and changes nothing; without
 * memory, or with BINDER_MAX_NOTICES registrations, the thread gets BR_ERROR.  May
 * sleep. */
void binder_death_request(struct binder_thread *thread, const struct binder_handle_cookie *arg);
void binder_death_clear(struct binder_thread *thread, const struct binder_handle_cookie *arg);
void binder_death_done(struct binder_thread *thread, u64 cookie);

/* The end of a registration that stands in no list any more.  No lock held. */
void binder_death_free(struct binder_death *death);

/* The owner of @node is gone: every ref that asked gets its notice. */
void binder_death_notify_nlocked(struct binder_node *node) REQUIRES(&node->lock);

/* BR_DEAD_BINDER or BR_CLEAR_DEATH_NOTIFICATION_DONE for the registration that
 * was just dequeued under the inner lock: which, and with which cookie.  A
 * notice now waits for its BC_DEAD_BINDER_DONE; with the clearing the
 * registration has ended: true, the caller frees it after unlocking. */
bool binder_death_deliver_ilocked(struct binder_proc *proc, struct binder_death *death, u32 *ret,
			       u64 *cookie);

#endif
