// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a transaction apart from the sending of it.  A call is owned by
 * its receiver (in a todo list, then on a stack) and remembered by its sender,
 * either of whom may die at any time.  `from` is the only link from receiver to
 * sender; it has a lock of its own because neither side's locks may be held
 * while looking at the other's.  A sender that dies clears it.
 */
#include "calls/transaction.h"

#include "things/context.h"
#include "notices/freeze.h"
#include "common/cover.h"
#include "things/node.h"
#include "things/proc.h"
#include "things/ref.h"
#include "things/thread.h"

/* What nobody fills in before it is looked at. */
static void renew(struct binder_transaction *t) NO_TSA
{
	t->counted = false;
	t->saved_priority = (struct host_priority){ 0 };
	t->saved_lent = false;
	t->to_pid = 0;
	t->to_tid = 0;
	t->from = NULL;
	t->from_parent = NULL;
	t->to_proc = NULL;
	t->to_thread = NULL;
	t->to_parent = NULL;
	t->buffer = NULL;
	t->has_secctx = false;
	t->files = NULL;
	t->nr_files = 0;
}

struct binder_transaction *binder_transaction_new(struct binder_thread *thread)
{
	struct binder_transaction *t = thread->spare_transaction;

	thread->spare_transaction = NULL;
	if (t)
		renew(t);
	else
		t = host_alloc(sizeof(*t));
	if (!t)
		return NULL;
	binder_work_init(&t->work, WORK_TRANSACTION);
	binder_lock_init(&t->lock, RANK_TRANSACTION);
	binder_stats_created_by(&thread->proc->stats, STAT_TRANSACTION);
	return t;
}

struct binder_buffer *binder_transaction_detach_buffer_ilocked(struct binder_transaction *t) NO_TSA
{
	struct binder_buffer *buffer = t->buffer;

	t->buffer = NULL;
	if (buffer)
		buffer->transaction = NULL;
	if (t->counted) {
		t->counted = false;
		if (!--t->to_proc->outstanding_txns)
			binder_proc_idle_ilocked(t->to_proc);
	}
	return buffer;
}

struct binder_buffer *binder_transaction_detach_buffer(struct binder_transaction *t)
{
	struct binder_proc *proc = t->to_proc;
	struct binder_buffer *buffer;

	if (!proc)
		return NULL;
	binder_lock(&proc->inner_lock);
	buffer = binder_transaction_detach_buffer_ilocked(t);
	binder_unlock(&proc->inner_lock);
	return buffer;
}

/* Once it has parted, it does not meet the buffer again. */
static bool is_detached_racy(const struct binder_transaction *t) PEEKS;
static bool is_detached_racy(const struct binder_transaction *t)
{
	return !t->buffer && !t->counted;
}

static void trace_freed(const struct binder_transaction *t)
{
	const struct host_trace_txn txn = {
		.id = t->debug_id,
		.from_proc = t->from_pid,
		.from_thread = t->from_tid,
		.to_proc = t->to_pid,
		.to_thread = t->to_tid,
		.reply = t->is_reply,
		.code = t->code,
		.flags = t->flags,
	};

	host_trace_txn_freed(&txn);
}

/* All but the memory. */
static void end(struct binder_transaction *t)
{
	u32 i;

	binder_assert_unlocked();
	trace_freed(t);
	if (!is_detached_racy(t))
		binder_transaction_detach_buffer(t);
	for (i = 0; i < t->nr_files; i++)
		host_file_put(t->files[i].file);
	host_free(t->files);
	binder_lock_destroy(&t->lock);
}

void binder_transaction_free(struct binder_transaction *t)
{
	end(t);
	binder_stats_deleted(STAT_TRANSACTION);
	host_free(t);
}

void binder_transaction_free_by(struct binder_thread *thread, struct binder_transaction *t)
{
	end(t);
	binder_stats_deleted_by(&thread->proc->stats, STAT_TRANSACTION);
	if (thread->spare_transaction)
		host_free(t);
	else
		thread->spare_transaction = t;
}

struct binder_thread *binder_transaction_get_from(struct binder_transaction *t)
{
	struct binder_thread *from;

	binder_lock(&t->lock);
	from = t->from;
	if (from)
		binder_thread_get(from);
	binder_unlock(&t->lock);
	return from;
}

/* An error that the sender has not asked for yet is not replaced. */
static void extend_error(struct binder_thread *from, u32 id, const struct binder_result *why)
{
	if (from->ee.command != BR_OK)
		return;
	from->ee.id = id;
	from->ee.command = why->ret;
	from->ee.param = why->err;
}

/* The sender gets the error where it waits for the answer.  False: it is gone
 * (or has just gone). */
static bool notify_sender(struct binder_transaction *t, const struct binder_result *why,
			bool extended)
{
	struct binder_thread *from = binder_transaction_get_from(t);
	bool told = false;

	if (!from)
		return false;
	binder_lock(&from->proc->inner_lock);
	if (!from->is_dead) {
		told = true;
		if (from->stack == t)
			from->stack = t->from_parent;
		if (from->reply_error.cmd == BR_OK) {
			from->reply_error.cmd = why->ret;
			if (extended)
				extend_error(from, t->debug_id, why);
			binder_thread_queue_ilocked(from, &from->reply_error.work);
			binder_wake_ilocked(from->proc, from, false);
		}
	}
	binder_unlock(&from->proc->inner_lock);
	binder_thread_put(from);
	return told;
}

void binder_transaction_fail(struct binder_transaction *t, const struct binder_result *why,
			     bool extended)
{
	while (t) {
		bool told = notify_sender(t, why, extended);
		struct binder_transaction *outer = told ? NULL : t->from_parent;

		/* The sender died while it waited, so the call that it was
		 * serving at the time will have no answer either. */
		binder_transaction_free(t);
		if (outer)
			BINDER_COVER(FAILED_OUTWARDS);
		t = outer;
		extended = false;
	}
}

void binder_transaction_drop(struct binder_transaction *t, const struct binder_result *why)
{
	if (!t->is_reply && !(t->flags & TF_ONE_WAY))
		binder_transaction_fail(t, why, false);
	else
		binder_transaction_free(t);
}

/* Stores the numbers of installed files where the data wants them. */
static int store_files(struct binder_transaction *t, struct binder_proc *proc, const u32 *fds)
{
	struct binder_buffer *b = t->buffer;
	int err = 0;
	u32 i;

	for (i = 0; i < t->nr_files && !err; i++) {
		struct binder_file_slot *slot = &t->files[i];

		host_trace_file_received(t->debug_id, fds[i], slot->off - b->range.off);
		err = host_map_write(&proc->alloc.map, slot->off, &fds[i], sizeof(fds[i]));
		if (slot->resource != NO_RESOURCE)
			b->resources[slot->resource].desc = fds[i];
	}
	return err;
}

int binder_transaction_install_files(struct binder_transaction *t, struct binder_thread *thread,
				     u32 **fds)
{
	struct host_file **files;
	int err;
	u32 i;

	*fds = host_alloc(t->nr_files * sizeof(**fds));
	files = host_alloc(t->nr_files * sizeof(*files));
	err = *fds && files ? 0 : -ENOMEM;
	if (!err) {
		for (i = 0; i < t->nr_files; i++)
			files[i] = t->files[i].file;
		err = host_files_install(&thread->host, t->debug_id, files, t->nr_files, *fds);
	}
	host_free(files);
	if (err)
		return err;
	err = store_files(t, thread->proc, *fds);
	if (err) {
		BINDER_COVER(FILES_NOT_STORED);
		host_fds_close(&thread->host, *fds, t->nr_files);
	}
	return err;
}

static void drop_resource(struct binder_proc *proc, struct binder_thread *freer,
		      const struct binder_resource *resource)
{
	if (resource->kind == RESOURCE_REF) {
		binder_ref_update(proc, resource->desc, false, resource->strong);
	} else if (resource->kind == RESOURCE_NODE) {
		binder_node_put_local(resource->node, resource->strong);
	} else if (freer) {
		host_fds_close(&freer->host, &resource->desc, 1);
		/* Stock closes them on the way out, so its thread leaves now. */
		binder_lock(&proc->inner_lock);
		freer->need_return = true;
		binder_unlock(&proc->inner_lock);
	}
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

void binder_buffer_release(struct binder_proc *proc, struct binder_thread *freer,
			   struct binder_buffer *buffer)
{
	u32 i;

	if (buffer->target_node)
		binder_node_dec(buffer->target_node, true, false);
	for (i = 0; i < buffer->nr_resources; i++)
		drop_resource(proc, freer, &buffer->resources[i]);
	binder_alloc_free_buffer(&proc->alloc, buffer);
}

/* A transaction that has parted from its buffer does not come back to it. */
static bool buffer_is_alone_racy(const struct binder_buffer *buffer) PEEKS;
static bool buffer_is_alone_racy(const struct binder_buffer *buffer)
{
	return !buffer->transaction;
}

void binder_buffer_free_command(struct binder_thread *thread, u64 ptr)
{
	struct binder_proc *proc = thread->proc;
	struct binder_buffer *buffer;
	int err = 0;

	buffer = binder_alloc_claim_buffer(&proc->alloc, ptr, &err);
	if (!buffer) {
		host_log(HOST_LOG_USER_ERROR, "%d:%d BC_FREE_BUFFER of %llx: %s", proc->pid,
			 thread->tid, (unsigned long long)ptr,
			 err == -EPERM ? "not its to free (yet, or any more)" : "no such buffer");
		return;
	}
	if (!buffer_is_alone_racy(buffer)) {
		binder_lock(&proc->inner_lock);
		if (buffer->transaction) {
			buffer->transaction->buffer = NULL;
			buffer->transaction = NULL;
		}
		binder_unlock(&proc->inner_lock);
	}
	if (buffer->async && buffer->target_node)
		binder_oneway_next(buffer->target_node);
	binder_trace_buffer(HOST_TRACE_BUFFER_FREED, buffer);
	binder_buffer_release(proc, thread, buffer);
}
