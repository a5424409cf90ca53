// SPDX-License-Identifier: GPL-2.0
/*
 * What a host does with an open besides calling it: open, mmap, flush, release; and the way
 * between its structures and the engine's.
 */
#include "core.h"

#include "entry/exit.h"
#include "pure/priority_flags.h"
#include "entities/context.h"
#include "entities/proc.h"
#include "entities/thread.h"
#include "entities/world.h"

int binder_open(struct binder_context *context, const void *opener, struct binder_proc **out)
{
	struct binder_proc *proc = binder_proc_new(context);
	int err;

	if (!proc)
		return -ENOMEM;
	err = host_proc_init(&proc->host, &proc->alloc.map, opener);
	if (err) {
		binder_proc_free(proc);
		return err;
	}
	proc->pid = host_proc_pid(&proc->host);
	proc->default_priority =
		binder_priority_of_open(host_priority_of_opener(&proc->host, opener));
	binder_pi_mutex_lock(&binder_world.lock);
	proc->serial = ++binder_world.last_serial;
	bl_add_tail(&binder_world.procs, &proc->world_link);
	binder_pi_mutex_unlock(&binder_world.lock);
	binder_stats_created(STAT_PROC);
	*out = proc;
	return 0;
}

int binder_mmap(struct binder_proc *proc, u64 base, size_t size)
{
	return binder_alloc_attach(&proc->alloc, &proc->host, base, size);
}

void binder_flush(struct binder_proc *proc)
{
	struct bt_node *n;

	binder_lock(&proc->inner_lock);
	bt_for_each(n, &proc->threads) {
		struct binder_thread *thread = bt_entry(n, struct binder_thread, by_tid);

		BINDER_WRITE_ONCE(thread->need_return, true);
		if (thread->looper & LOOPER_WAITING)
			host_wake(&thread->host, false);
	}
	binder_unlock(&proc->inner_lock);
}

u32 binder_release_cost(struct binder_proc *proc)
{
	struct binder_alloc_stats stats;
	u32 cost;

	binder_alloc_get_stats(&proc->alloc, &stats);
	cost = (u32)stats.buffers;
	binder_lock(&proc->outer_lock);
	cost += proc->nr_refs;
	binder_unlock(&proc->outer_lock);
	binder_lock(&proc->inner_lock);
	cost += proc->nr_nodes;
	binder_unlock(&proc->inner_lock);
	return cost;
}

void binder_release(struct binder_proc *proc)
{
	binder_proc_release(proc);
}

struct host_proc *binder_proc_host(struct binder_proc *proc)
{
	return &proc->host;
}

struct binder_proc *binder_proc_of_host(struct host_proc *host)
{
	return base_container_of(host, struct binder_proc, host);
}

struct host_map *binder_proc_map(struct binder_proc *proc)
{
	return &proc->alloc.map;
}

struct host_thread *binder_thread_host(struct binder_thread *thread)
{
	return &thread->host;
}

struct binder_thread *binder_thread_of_host(struct host_thread *host)
{
	return base_container_of(host, struct binder_thread, host);
}

bool binder_thread_takes_long(const struct binder_thread *thread)
{
	return thread->long_command;
}

u32 binder_thread_wait_timeout_ms(const struct binder_thread *thread)
{
	return thread->wait_timeout_ms;
}
