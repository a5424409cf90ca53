// SPDX-License-Identifier: GPL-2.0
/*
 * The lines of a thing are numbered as they are walked past, and the batch takes
 * those that come after what earlier batches took, as many as fit.  Walking from
 * the start each time costs little, because things with more than one sheetful
 * are rare and someone's mistake.
 */
#include "reports/report_batch.h"

#include "things/proc.h"
#include "things/ref.h"
#include "calls/transaction.h"

void report_batch_first(struct report_batch *batch)
{
	batch->nr = batch->nr_pids = 0;
	batch->skip = batch->skip_pids = 0;
	batch->more = false;
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

/* Where line number @at of the thing goes; NULL: not on this batch. */
static struct line *note(struct report_batch *batch, u32 at, enum line_kind kind)
{
	struct line *line;

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

static void view_txn_ilocked(struct txn_view *view, const struct binder_transaction *t,
			     const struct binder_proc *proc)
{
	const struct binder_buffer *buffer;

	*view = (struct txn_view){
		.id = t->debug_id,
		.code = t->code,
		.flags = t->flags,
		.from_pid = t->from_pid,
		.from_tid = t->from_tid,
		.to_pid = __atomic_load_n(&t->to_pid, __ATOMIC_RELAXED),
		.to_tid = __atomic_load_n(&t->to_tid, __ATOMIC_RELAXED),
		.prio = t->priority.prio,
		.need_reply = !t->is_reply && !(t->flags & TF_ONE_WAY),
		.start_ns = t->start_ns,
		.received = binder_transaction_is_in(t, proc),
	};
	buffer = view->received ? t->buffer : NULL;
	if (!buffer)
		return;
	view->has_buffer = true;
	view->node = buffer->target_node ? buffer->target_node->debug_id : 0;
	view->data_size = buffer->data_size;
	view->offsets_size = buffer->offsets_size;
	view->off = buffer->range.off;
}

/* The stack of calls that @thread takes part in, innermost first; returns the
 * number of the line after it. */
static u32 note_stack_ilocked(struct report_batch *batch, u32 at,
			      const struct binder_thread *thread)
{
	struct binder_transaction *t = thread->stack;
	const char *word = "incoming";

	while (t && !batch->more) {
		struct line *line = note(batch, at++, LINE_STACK);
		bool sent;

		binder_lock(&t->lock);
		sent = t->from == thread;
		binder_unlock(&t->lock);
		if (sent)
			word = "outgoing";
		else
			word = binder_transaction_is_for(t, thread) ? "incoming" : "bad";
		if (line) {
			line->word = word;
			view_txn_ilocked(&line->txn, t, thread->proc);
		}
		if (sent)
			t = t->from_parent;
		else
			t = binder_transaction_is_for(t, thread) ? t->to_parent : NULL;
	}
	return at;
}

static void note_works_ilocked(struct report_batch *batch, u32 at, const struct bl_list *todo,
			       const struct binder_proc *proc)
{
	const struct bl_list *link;

	for (link = todo->next; link != todo && !batch->more; link = link->next) {
		struct binder_work *work = bl_entry(link, struct binder_work, link);
		struct line *line = note(batch, at++, LINE_WORK);

		if (line)
			line->work = work->type;
		if (line && work->type == WORK_TRANSACTION) {
			view_txn_ilocked(&line->txn,
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

void report_batch_note_thread_ilocked(struct report_batch *batch,
				      const struct binder_thread *thread)
{
	struct line *line = note(batch, 0, LINE_THREAD);
	u32 at;

	if (line) {
		line->thread.tid = thread->tid;
		line->thread.looper = thread->looper;
		line->thread.need_return = thread->need_return;
		line->thread.holders = host_atomic_read(&thread->refs) - 1;
	}
	at = note_stack_ilocked(batch, 1, thread);
	note_works_ilocked(batch, at, &thread->todo, thread->proc);
}

void report_batch_note_works_ilocked(struct report_batch *batch, const struct bl_list *todo,
			      const struct binder_proc *proc)
{
	note_works_ilocked(batch, 0, todo, proc);
}

u32 report_batch_note_holders_nlocked(struct report_batch *batch, const struct binder_node *node)
{
	const struct bl_list *link;
	u32 nr = 0;

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
