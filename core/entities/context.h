/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_context: one device file and its context manager, the owner of handle 0.
 */
#ifndef BINDER_CONTEXT_H
#define BINDER_CONTEXT_H

#include "base/list.h"
#include "common/abi.h"
#include "common/limits.h"
#include "common/lock.h"

struct binder_node;
struct binder_proc;

struct binder_context {
	struct host_atomic refs;
	struct bl_list world_link; /* binder_world.lock */
	struct binder_lock lock;
	struct binder_node *manager GUARDED_BY(&lock); /* pinned */
	bool manager_uid_known GUARDED_BY(&lock);
	u32 manager_uid GUARDED_BY(&lock);
	size_t name_size; /* bytes, with the final NUL */
	char name[BINDER_NAME_MAX + 1];
};

/* See core.h. */
struct binder_context *binder_context_new(const char *name);
void binder_context_put(struct binder_context *context);

void binder_context_get(struct binder_context *context);

/* The node of the context manager, pinned; NULL if there is none. */
struct binder_node *binder_context_get_manager(struct binder_context *context);
/* Does the context manager's node belong to @proc? Takes node->lock. */
bool binder_context_is_managed_by(struct binder_context *context, const struct binder_proc *proc);

/*
 * BINDER_SET_CONTEXT_MGR and _EXT. -EBUSY: there is a manager; -EPERM: another user was
 * the manager before, or the policy refuses; -ENOMEM. May sleep.
 */
int binder_context_set_manager(struct binder_proc *proc, const struct host_thread *caller,
			       const struct flat_binder_object *fbo);
/* -EPERM: the context manager is or was another user. */
int binder_context_check_user(struct binder_context *context, u32 euid);
/* @proc dies: if it is the manager, the context has none afterwards. */
void binder_context_clear_manager(struct binder_proc *proc);

#endif
