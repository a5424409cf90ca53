/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Death notifications: BC_REQUEST_DEATH_NOTIFICATION registers for the death of the owner
 * of a handle's node, BR_DEAD_BINDER delivers it, BC_DEAD_BINDER_DONE acknowledges it, and
 * BC_CLEAR_DEATH_NOTIFICATION ends the registration.
 */
#ifndef BINDER_DEATH_H
#define BINDER_DEATH_H

#include "common/abi.h"
#include "common/lock.h"
#include "entities/node.h"
#include "entities/proc.h"

struct binder_notice;
struct binder_thread;

/*
 * BC_REQUEST_DEATH_NOTIFICATION and BC_DEAD_BINDER_DONE. A client's mistake is logged and changes
 * nothing; without memory, or with BINDER_MAX_NOTICES registrations, the thread gets BR_ERROR.
 * May sleep; no lock held.
 */
void binder_death_request(struct binder_thread *thread, const struct binder_handle_cookie *arg);
void binder_death_done(struct binder_thread *thread, u64 cookie);

/* The owner of @node is gone: queues the notice of every reference that registered. */
void binder_death_notify_nlocked(struct binder_node *node) REQUIRES(&node->lock);

/*
 * @notice was dequeued: *@ret is BR_DEAD_BINDER, and the notice awaits its
 * BC_DEAD_BINDER_DONE, or BR_CLEAR_DEATH_NOTIFICATION_DONE, and true is returned: the caller
 * frees the notice after unlocking.
 */
bool binder_death_deliver_ilocked(struct binder_proc *proc, struct binder_notice *notice, u32 *ret)
	REQUIRES(&proc->inner_lock);

#endif
