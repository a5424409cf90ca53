// SPDX-License-Identifier: GPL-2.0
/*
 * What exists: contexts (one per device file), processes, and nodes that have
 * outlived their process.  A context has at most one manager, whose node
 * everybody reaches as handle 0; once a user has managed a context, nobody of
 * another user may.
 */
#include "things/context.h"

#include "common/cover.h"
#include "things/node.h"
#include "things/proc.h"
#include "common/translog.h"

struct binder_world binder_world;

void binder_world_init(void) NO_TSA /* nobody else is there yet */
{
	binder_pi_mutex_init(&binder_world.lock, RANK_WORLD);
	bl_init(&binder_world.procs);
	bl_init(&binder_world.dead_nodes);
	binder_log_init();
}

u32 binder_next_id(void)
{
	u32 id;

	do {
		id = (u32)host_atomic_add_return(&binder_world.last_id, 1);
	} while (!id);
	return id;
}

struct binder_context *binder_context_new(const char *name)
{
	struct binder_context *context;
	size_t len = host_strlen(name);

	if (len > BINDER_NAME_MAX)
		return NULL;
	context = host_alloc(sizeof(*context));
	if (!context)
		return NULL;
	host_atomic_set(&context->refs, 1);
	binder_lock_init(&context->lock, RANK_CONTEXT);
	host_memcpy(context->name, name, len);
	context->name_size = len + 1;
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
	/* The manager's process held a count, so there is no manager. */
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

/* Makes @node the manager if the place is free. */
static int install_manager(struct binder_context *context, struct binder_node *node, u32 euid)
{
	int err = 0;

	binder_lock(&context->lock);
	if (context->manager) {
		BINDER_COVER(MANAGER_TWICE);
		err = -EBUSY;
	} else if (context->manager_uid_known && context->manager_uid != euid) {
		err = -EPERM;
	} else {
		context->manager_uid_known = true;
		context->manager_uid = euid;
		binder_node_pin(node);
		context->manager = node;
		binder_lock(&node->lock);
		/* The driver holds it for everybody, and the owner need not be
		 * told: that it manages is all it has to know. */
		node->is_manager = true;
		node->local_strong++;
		node->local_weak++;
		node->has_strong = true;
		node->has_weak = true;
		binder_unlock(&node->lock);
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

void binder_context_lose_manager(struct binder_proc *proc)
{
	struct binder_context *context = proc->context;
	struct binder_node *node;
	bool own = false;

	binder_lock(&context->lock);
	node = context->manager;
	if (node) {
		binder_lock(&node->lock);
		own = node->proc == proc;
		binder_unlock(&node->lock);
	}
	if (own)
		context->manager = NULL;
	binder_unlock(&context->lock);
	if (own)
		binder_node_unpin(node);
}
