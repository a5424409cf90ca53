// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a process and its references. A process is opened in entry/open.c and
 * torn down in entry/exit.c; what is left after that is kept by the references of
 * threads and of transactions on their way.
 */
#include "entities/proc.h"

#include "entities/context.h"
#include "entities/thread.h"

struct binder_proc *binder_proc_new(struct binder_context *context)
{
	struct binder_proc *proc = host_alloc_large(NULL, sizeof(*proc));

	if (!proc)
		return NULL;
	host_atomic_set(&proc->refs, 1);
	binder_context_get(context);
	proc->context = context;
	bl_init(&proc->world_link);
	binder_lock_init(&proc->outer_lock, RANK_OUTER);
	binder_lock_init(&proc->inner_lock, RANK_INNER);
	bm_init(&proc->descs);
	bl_init(&proc->todo);
	bl_init(&proc->waiting_threads);
	bl_init(&proc->delivered_death);
	bl_init(&proc->delivered_freeze);
	bl_init(&proc->freeze_waiters);
	binder_alloc_init(&proc->alloc);
	return proc;
}

void binder_proc_free(struct binder_proc *proc)
{
	binder_assert_unlocked();
	binder_assert_private(&proc->outer_lock);
	binder_alloc_destroy(&proc->alloc);
	host_free(proc->descs.words);
	binder_lock_destroy(&proc->outer_lock);
	binder_lock_destroy(&proc->inner_lock);
	binder_context_put(proc->context);
	host_free(proc);
}

void binder_proc_get(struct binder_proc *proc)
{
	host_atomic_add(&proc->refs, 1);
}

void binder_proc_put(struct binder_proc *proc)
{
	if (host_atomic_add_return(&proc->refs, -1))
		return;
	host_proc_destroy(&proc->host, &proc->alloc.map);
	binder_proc_free(proc);
}

void binder_proc_wake_freezers_ilocked(struct binder_proc *proc)
{
	struct binder_thread *thread;

	binder_assert_held(&proc->inner_lock);
	bl_for_each(thread, &proc->freeze_waiters, freeze_link)
		host_wake(&thread->host, false);
}

void binder_proc_txn_end_ilocked(struct binder_proc *proc)
{
	binder_assert_held(&proc->inner_lock);
	if (!--proc->outstanding_txns)
		binder_proc_wake_freezers_ilocked(proc);
}
