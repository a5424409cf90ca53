// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a transaction apart from sending it. A call is owned by its receiver (in a
 * todo list, then on a stack) and remembered by its sender, and either may die at any time.
 * `from` is the only link from receiver to sender; it has a lock of its own because neither
 * side's locks may be held while looking at the other. A sender that dies clears it.
 */
#include "calls/transaction.h"

#include "common/cover.h"

/* The fields that are read before the sender sets them. */
static void transaction_reset(struct binder_transaction *t)
{
	binder_assert_private(&t->lock);
	BINDER_WRITE_ONCE(t->counted, false);
	t->saved_priority = (struct host_priority){ 0 };
	t->saved_lent = false;
	t->from = NULL;
	t->from_parent = NULL;
	binder_transaction_set_in(t, NULL);
	binder_transaction_set_for(t, NULL);
	t->to_parent = NULL;
	BINDER_WRITE_ONCE(t->buffer, NULL);
	t->has_secctx = false;
	t->files = NULL;
	t->nr_files = 0;
}

struct binder_transaction *binder_transaction_new(struct binder_thread *thread)
{
	struct binder_transaction *t = thread->spare_transaction;

	thread->spare_transaction = NULL;
	if (!t)
		t = host_alloc(&thread->proc->host, sizeof(*t));
	if (!t)
		return NULL;
	binder_work_init(&t->work, WORK_TRANSACTION);
	binder_lock_init(&t->lock, RANK_TRANSACTION);
	transaction_reset(t);
	binder_stats_created_by(&thread->proc->stats, STAT_TRANSACTION);
	return t;
}

void binder_transaction_count_ilocked(struct binder_transaction *t, struct binder_proc *proc)
{
	binder_assert_held(&proc->inner_lock);
	BINDER_WRITE_ONCE(t->counted, true);
	binder_proc_txn_begin_ilocked(proc);
}

struct binder_buffer *binder_transaction_detach_ilocked(struct binder_transaction *t,
							struct binder_proc *proc)
{
	struct binder_buffer *buffer = t->buffer;

	binder_assert_held(&proc->inner_lock);
	BINDER_WRITE_ONCE(t->buffer, NULL);
	if (buffer)
		BINDER_WRITE_ONCE(buffer->transaction, NULL);
	if (t->counted) {
		BINDER_WRITE_ONCE(t->counted, false);
		binder_proc_txn_end_ilocked(proc);
	}
	return buffer;
}

struct binder_buffer *binder_transaction_detach(struct binder_transaction *t)
{
	struct binder_proc *proc = BINDER_READ_ONCE(t->to_proc);
	struct binder_buffer *buffer;

	if (!proc)
		return NULL;
	binder_lock(&proc->inner_lock);
	buffer = binder_transaction_detach_ilocked(t, proc);
	binder_unlock(&proc->inner_lock);
	return buffer;
}

/* A transaction that is detached is never attached again. */
static bool transaction_is_detached_racy(const struct binder_transaction *t)
{
	return !BINDER_READ_ONCE(t->buffer) && !BINDER_READ_ONCE(t->counted);
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

/* Ends everything but the memory. */
static void transaction_end(struct binder_transaction *t)
{
	u32 i;

	binder_assert_unlocked();
	trace_freed(t);
	if (!transaction_is_detached_racy(t))
		binder_transaction_detach(t);
	for (i = 0; i < t->nr_files; i++)
		host_file_put(t->files[i].file);
	host_free(t->files);
	binder_lock_destroy(&t->lock);
}

void binder_transaction_free(struct binder_transaction *t)
{
	transaction_end(t);
	binder_stats_deleted(STAT_TRANSACTION);
	host_free(t);
}

void binder_transaction_free_by(struct binder_thread *thread, struct binder_transaction *t)
{
	transaction_end(t);
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

/* An extended error that was not read yet is not replaced. */
static void set_extended_error(struct binder_thread *from, u32 id, const struct binder_result *why)
{
	if (from->ee.command != BR_OK)
		return;
	from->ee.id = id;
	from->ee.command = why->ret;
	from->ee.param = why->err;
}

/* Queues the error for the sender, which waits for the reply. False: it is gone. */
static bool notify_sender(struct binder_transaction *t, const struct binder_result *why,
			  bool extended)
{
	struct binder_thread *from = binder_transaction_get_from(t);
	bool alive;

	if (!from)
		return false;
	binder_lock(&from->proc->inner_lock);
	alive = !from->is_dead;
	if (alive && from->stack == t)
		BINDER_WRITE_ONCE(from->stack, t->from_parent);
	if (alive && from->reply_error.cmd == BR_OK) {
		from->reply_error.cmd = why->ret;
		if (extended)
			set_extended_error(from, t->debug_id, why);
		binder_thread_queue_ilocked(from, &from->reply_error.work);
		binder_wake_ilocked(from->proc, from, false);
	}
	binder_unlock(&from->proc->inner_lock);
	binder_thread_put(from);
	return alive;
}

void binder_transaction_fail(struct binder_transaction *t, const struct binder_result *why,
			     bool extended)
{
	while (t) {
		bool notified = notify_sender(t, why, extended);
		struct binder_transaction *outer = notified ? NULL : t->from_parent;

		/*
		 * The sender died waiting, so the call that it was serving then gets no
		 * reply either.
		 */
		binder_transaction_free(t);
		if (outer)
			BINDER_COVER(FAILURE_PASSED_ON);
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
