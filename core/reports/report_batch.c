// SPDX-License-Identifier: GPL-2.0
/*
 * Lines are numbered in the order in which they are visited. A batch takes those whose
 * numbers follow the ones of earlier batches, as many as fit. So each batch visits all lines
 * from the start, which costs little as long as more than one batch is rare. A stack can be
 * deep: it is visited once.
 *
 * Tested in: core/reports/report_test.c
 */
#include "reports/report_batch.h"

#include "calls/transaction.h"
#include "entities/ref.h"

void report_batch_first(struct report_batch *batch)
{
	batch->nr = batch->nr_pids = 0;
	batch->skip = batch->skip_pids = 0;
	batch->more = false;
	batch->top = NULL;
}

bool report_batch_next(struct report_batch *batch)
{
	bool more = batch->more;

	batch->skip += batch->nr;
	batch->skip_pids += batch->nr_pids;
	batch->nr = batch->nr_pids = 0;
	batch->more = false;
	return more;
}

/* The line of the batch for line number @at; NULL: it goes to another batch. */
static struct report_line *add_line(struct report_batch *batch, u32 at,
				    enum report_line_kind kind)
{
	struct report_line *line;

	if (at < batch->skip)
		return NULL;
	if (batch->nr == REPORT_BATCH_LINES) {
		batch->more = true;
		return NULL;
	}
	line = &batch->lines[batch->nr++];
	host_memset(line, 0, sizeof(*line));
	line->kind = kind;
	return line;
}

/* Describes @t as seen from @proc, its sender or its receiver. */
static void describe_txn_ilocked(struct report_txn *txn, const struct binder_transaction *t,
				 struct binder_proc *proc) REQUIRES(&proc->inner_lock)
{
	const struct binder_buffer *buffer;

	binder_assert_held(&proc->inner_lock);
	*txn = (struct report_txn){
		.id = t->debug_id,
		.code = t->code,
		.flags = t->flags,
		.from_pid = t->from_pid,
		.from_tid = t->from_tid,
		.to_pid = BINDER_READ_ONCE(t->to_pid),
		.to_tid = BINDER_READ_ONCE(t->to_tid),
		.prio = t->priority.prio,
		.is_async = !t->is_reply && (t->flags & TF_ONE_WAY),
		.is_reply = t->is_reply,
		.start_ns = t->start_ns,
		.received = binder_transaction_is_in_racy(t, proc),
	};
	buffer = txn->received ? t->buffer : NULL;
	if (!buffer)
		return;
	txn->has_buffer = true;
	txn->node = buffer->target_node ? buffer->target_node->debug_id : 0;
	txn->data_size = buffer->data_size;
	txn->offsets_size = buffer->offsets_size;
	txn->off = buffer->range.off;
}

/*
 * The transaction with which the stack goes on from line number *@at. While the innermost one
 * is the same, none behind it has ended since the last batch.
 */
static struct binder_transaction *resume_stack(const struct report_batch *batch,
					       struct binder_transaction *top, u32 *at)
{
	if (!top || top != batch->top || top->debug_id != batch->top_id)
		return top;
	*at = batch->next_at;
	return batch->next;
}

/*
 * Adds the transaction stack of @thread, innermost first, from line number @at on. Returns
 * the number of the next line.
 */
static u32 add_stack_ilocked(struct report_batch *batch, u32 at, struct binder_proc *proc,
			     const struct binder_thread *thread) REQUIRES(&proc->inner_lock)
{
	struct binder_transaction *t = resume_stack(batch, thread->stack, &at);

	binder_assert_held(&proc->inner_lock);
	for (; t; at++) {
		struct report_line *line = add_line(batch, at, LINE_STACK);
		bool sent, received = binder_transaction_is_for_racy(t, thread);

		if (batch->more)
			break;
		binder_lock(&t->lock);
		sent = t->from == thread;
		binder_unlock(&t->lock);
		if (line) {
			line->role = sent ? "outgoing" : received ? "incoming" : "bad";
			describe_txn_ilocked(&line->txn, t, proc);
		}
		if (sent)
			t = t->from_parent;
		else
			t = received ? t->to_parent : NULL;
	}
	batch->top = thread->stack;
	batch->top_id = thread->stack ? thread->stack->debug_id : 0;
	batch->next = t;
	batch->next_at = at;
	return at;
}

/* Adds the work of @todo, from line number @at on. */
static void add_works_ilocked(struct report_batch *batch, u32 at, struct binder_proc *proc,
			      const struct bl_list *todo) REQUIRES(&proc->inner_lock)
{
	const struct bl_list *link;

	binder_assert_held(&proc->inner_lock);
	for (link = todo->next; link != todo && !batch->more; link = link->next) {
		struct binder_work *work = bl_entry(link, struct binder_work, link);
		struct report_line *line = add_line(batch, at++, LINE_WORK);

		if (line)
			line->work = work->type;
		if (line && work->type == WORK_TRANSACTION) {
			describe_txn_ilocked(&line->txn,
					     bl_entry(work, struct binder_transaction, work), proc);
		} else if (line && work->type == WORK_NODE) {
			const struct binder_node *node = bl_entry(work, struct binder_node, work);

			line->node.id = node->debug_id;
			line->node.ptr = node->ptr;
			line->node.cookie = node->cookie;
		} else if (line && work->type == WORK_ERROR) {
			line->error = bl_entry(work, struct binder_error, work)->cmd;
		}
	}
}

void report_batch_add_thread_ilocked(struct report_batch *batch, struct binder_proc *proc,
				     const struct binder_thread *thread)
{
	struct report_line *line = add_line(batch, 0, LINE_THREAD);
	u32 at;

	binder_assert_held(&proc->inner_lock);
	if (line) {
		line->thread.tid = thread->tid;
		line->thread.looper = thread->looper;
		line->thread.need_return = thread->need_return;
		line->thread.refs = host_atomic_read(&thread->refs) - 1;
	}
	at = add_stack_ilocked(batch, 1, proc, thread);
	add_works_ilocked(batch, at, proc, &thread->todo);
}

void report_batch_add_works_ilocked(struct report_batch *batch, struct binder_proc *proc,
				    const struct bl_list *todo)
{
	binder_assert_held(&proc->inner_lock);
	add_works_ilocked(batch, 0, proc, todo);
}

u32 report_batch_add_pids_nlocked(struct report_batch *batch, const struct binder_node *node)
{
	const struct bl_list *link;
	u32 nr = 0;

	binder_assert_held(&node->lock);
	for (link = node->refs.prev; link != &node->refs; link = link->prev) {
		if (nr++ < batch->skip_pids)
			continue;
		if (batch->nr_pids == REPORT_BATCH_LINES)
			batch->more = true;
		else
			batch->pids[batch->nr_pids++] =
				bl_entry(link, struct binder_ref, node_link)->proc->pid;
	}
	return nr;
}
