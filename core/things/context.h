/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_context: one device file and who manages its names (handle 0).
 * binder_world: what exists at all: contexts, processes, dead nodes.
 */
#ifndef BINDER_CONTEXT_H
#define BINDER_CONTEXT_H

#include "common/abi.h"
#include "base/list.h"
#include "common/limits.h"
#include "common/lock.h"
#include "common/stats.h"

struct binder_node;
struct binder_proc;

struct binder_context {
	struct host_atomic refs;
	struct binder_lock lock;
	struct binder_node *manager GUARDED_BY(&lock); /* pinned */
	bool manager_uid_known GUARDED_BY(&lock);
	u32 manager_uid GUARDED_BY(&lock);
	size_t name_size; /* bytes, with the final NUL */
	char name[BINDER_NAME_MAX + 1];
};

struct binder_world {
	struct binder_pi_mutex lock;
	struct bl_list procs GUARDED_BY(&lock);
	struct bl_list dead_nodes GUARDED_BY(&lock);
	struct host_atomic last_id;
	struct binder_stats stats;
};

extern struct binder_world binder_world;
void binder_world_init(void);

/* The next number for anything that reports and logs name.  Never 0. */
u32 binder_next_id(void);

struct binder_context *binder_context_new(const char *name);
void binder_context_get(struct binder_context *context);
void binder_context_put(struct binder_context *context);

/* The node of the context's manager, pinned; NULL if it has none. */
struct binder_node *binder_context_get_manager(struct binder_context *context);

/* BINDER_SET_CONTEXT_MGR and _EXT.  -EBUSY there is one; -EPERM another user
 * was it before, or policy; -ENOMEM.  May sleep. */
int binder_context_set_manager(struct binder_proc *proc, const struct host_thread *caller,
			       const struct flat_binder_object *fbo);
/* @proc dies: if it was the manager, the place is free again. */
void binder_context_lose_manager(struct binder_proc *proc);

#endif
