// SPDX-License-Identifier: GPL-2.0
/*
 * A buffer keeps its target node (strongly) and a list of resources: counts of handles,
 * local references and files. Freeing it drops them one by one, then the space.
 *
 * Tested in: tests/drivers/conformance/txn_buffer.c
 */
#include "calls/buffer.h"

#include "calls/oneway.h"
#include "calls/transaction.h"
#include "common/limits.h"
#include "common/result.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "entities/thread.h"

static void close_file(struct binder_thread *freer, u32 fd)
{
	host_fds_close(&freer->host, &fd, 1);
	/* The C driver closes files when the thread leaves, so it leaves now. */
	binder_thread_set_need_return(freer, true);
}

static void drop_resource(struct binder_proc *proc, struct binder_thread *freer,
			  const struct binder_resource *resource)
{
	if (resource->kind == RESOURCE_REF)
		binder_ref_update(proc, resource->desc,
				  resource->strong ? REF_RELEASE : REF_DECREFS);
	else if (resource->kind == RESOURCE_NODE)
		binder_node_put_local(resource->node, resource->strong);
	else if (freer)
		close_file(freer, resource->desc);
}

void binder_buffer_forget_refs(struct binder_buffer *buffer)
{
	u32 kept = 0, i;

	for (i = 0; i < buffer->nr_resources; i++) {
		if (buffer->resources[i].kind != RESOURCE_REF)
			buffer->resources[kept++] = buffer->resources[i];
	}
	buffer->nr_resources = kept;
}

/* What is dropped is not the buffer's any more: to close a file may take long. */
static noinline void drop_resources(struct binder_proc *proc, struct binder_thread *freer,
				    struct binder_buffer *buffer)
{
	u32 i;

	for (i = 0; i < buffer->nr_resources; i++) {
		const struct binder_resource resource = buffer->resources[i];

		buffer->resources[i].kind = RESOURCE_DROPPED;
		drop_resource(proc, freer, &resource);
	}
}

void binder_buffer_release(struct binder_proc *proc, struct binder_thread *freer,
			   struct binder_buffer *buffer)
{
	struct binder_node *target = buffer->target_node;

	buffer->target_node = NULL;
	if (target)
		binder_node_dec(target, NODE_LOCAL_STRONG);
	if (buffer->nr_resources)
		drop_resources(proc, freer, buffer);
	binder_alloc_free_buffer(&proc->alloc, buffer);
}

/* A buffer that is detached from its transaction is never attached again. */
static bool is_detached_racy(const struct binder_buffer *buffer)
{
	return !BINDER_READ_ONCE(buffer->transaction);
}

int binder_buffer_free_command(struct binder_thread *thread, u64 ptr)
{
	struct binder_proc *proc = thread->proc;
	struct binder_buffer *buffer;
	int err = 0;

	buffer = binder_alloc_claim_buffer(&proc->alloc, ptr,
					   thread->long_command ? ~0u : BINDER_LONG_OBJECTS, &err);
	if (binder_thread_put_off(thread, err == -E2BIG))
		return BINDER_AGAIN;
	if (!buffer) {
		host_log(HOST_LOG_USER_ERROR, "%d:%d BC_FREE_BUFFER: %s", proc->pid, thread->tid,
			 err == -EPERM ?
				 "buffer not owned by this process, or already freed" :
				 "no such buffer");
		return 0;
	}
	if (!is_detached_racy(buffer)) {
		binder_lock(&proc->inner_lock);
		if (buffer->transaction)
			BINDER_WRITE_ONCE(buffer->transaction->buffer, NULL);
		BINDER_WRITE_ONCE(buffer->transaction, NULL);
		binder_unlock(&proc->inner_lock);
	}
	if (buffer->async && buffer->target_node)
		binder_oneway_next(buffer->target_node);
	binder_trace_buffer(HOST_TRACE_BUFFER_FREED, buffer);
	binder_thread_set_freeing(thread, buffer->nr_resources ? buffer : NULL);
	binder_buffer_release(proc, thread, buffer);
	binder_thread_set_freeing(thread, NULL);
	return 0;
}
