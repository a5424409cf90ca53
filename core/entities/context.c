// SPDX-License-Identifier: GPL-2.0
/*
 * A context has at most one manager, whose node every process reaches as handle 0.
 * Once a process of some user has been the manager, no other user can become it.
 */
#include "entities/context.h"

#include "common/cover.h"
#include "entities/node.h"
#include "entities/proc.h"
#include "entities/world.h"

struct binder_context *binder_context_new(const char *name)
{
	struct binder_context *context;
	size_t len = host_strlen(name);

	if (len > BINDER_NAME_MAX)
		return NULL;
	context = host_alloc(NULL, sizeof(*context));
	if (!context)
		return NULL;
	host_atomic_set(&context->refs, 1);
	binder_lock_init(&context->lock, RANK_CONTEXT);
	host_memcpy(context->name, name, len);
	context->name_size = len + 1;
	binder_pi_mutex_lock(&binder_world.lock);
	bl_add_tail(&binder_world.contexts, &context->world_link);
	binder_pi_mutex_unlock(&binder_world.lock);
	return context;
}

void binder_context_get(struct binder_context *context)
{
	host_atomic_add(&context->refs, 1);
}

void binder_context_put(struct binder_context *context)
{
	if (host_atomic_add_return(&context->refs, -1))
		return;
	binder_pi_mutex_lock(&binder_world.lock);
	bl_del(&context->world_link);
	binder_pi_mutex_unlock(&binder_world.lock);
	/* The manager's process has a reference, so there is no manager. */
	binder_lock_destroy(&context->lock);
	host_free(context);
}

struct binder_node *binder_context_get_manager(struct binder_context *context)
{
	struct binder_node *node;

	binder_lock(&context->lock);
	node = context->manager;
	if (node)
		binder_node_pin(node);
	binder_unlock(&context->lock);
	return node;
}

bool binder_context_is_managed_by(struct binder_context *context, const struct binder_proc *proc)
{
	struct binder_node *node = binder_context_get_manager(context);
	bool own;

	if (!node)
		return false;
	own = binder_node_is_owned_by(node, proc);
	binder_node_unpin(node);
	return own;
}

static int check_user_locked(const struct binder_context *context, u32 euid)
	REQUIRES(&context->lock)
{
	return context->manager_uid_known && context->manager_uid != euid ? -EPERM : 0;
}

int binder_context_check_user(struct binder_context *context, u32 euid)
{
	int err;

	binder_lock(&context->lock);
	err = check_user_locked(context, euid);
	binder_unlock(&context->lock);
	return err;
}

/* Makes @node the manager if there is none. */
static int install_manager(struct binder_context *context, struct binder_node *node, u32 euid)
{
	int err;

	binder_lock(&context->lock);
	err = check_user_locked(context, euid);
	if (context->manager) {
		BINDER_COVER(MANAGER_TWICE);
		err = -EBUSY;
	} else if (!err) {
		context->manager_uid_known = true;
		context->manager_uid = euid;
		binder_node_pin(node);
		context->manager = node;
		binder_node_set_manager(node);
	}
	binder_unlock(&context->lock);
	return err;
}

int binder_context_set_manager(struct binder_proc *proc, const struct host_thread *caller,
			       const struct flat_binder_object *fbo)
{
	struct binder_node *node;
	int err;

	node = binder_context_get_manager(proc->context);
	if (node) {
		binder_node_unpin(node);
		return -EBUSY;
	}
	err = host_may_manage(&proc->host);
	if (err)
		return err;
	node = binder_node_find_or_new(proc, fbo);
	if (!node)
		return -ENOMEM;
	err = install_manager(proc->context, node, host_caller_euid(caller));
	binder_node_unpin(node);
	return err;
}

void binder_context_clear_manager(struct binder_proc *proc)
{
	struct binder_context *context = proc->context;
	struct binder_node *node;
	bool own;

	binder_lock(&context->lock);
	node = context->manager;
	own = node && binder_node_is_owned_by(node, proc);
	if (own)
		context->manager = NULL;
	binder_unlock(&context->lock);
	if (own)
		binder_node_unpin(node);
}
