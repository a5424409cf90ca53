// SPDX-License-Identifier: GPL-2.0
/*
 * What calls that were left behind held is released through the ordinary functions, so that others
 * are told of it as ever. Such a call failed with an error by which its thread may repeat it: so
 * what it was sending is undone, the call that it was replying to waits for its reply again, and
 * what it was about to deliver is queued again, before all that came later.
 */
#include "state/state_stream.h"

#include "calls/buffer.h"
#include "calls/oneway.h"
#include "reports/report_stats.h"

/* ---- transactions and buffers -------------------------------------------------------- */

static void undo_send(const struct state_loose *loose)
{
	struct binder_transaction *t = loose->t;

	BINDER_WRITE_ONCE(t->buffer, NULL);
	BINDER_WRITE_ONCE(loose->buffer->transaction, NULL);
	binder_trace_buffer(HOST_TRACE_BUFFER_FAILED, loose->buffer);
	binder_buffer_release(loose->proc, NULL, loose->buffer);
	binder_transaction_free(t);
}

/* The receiver of @t serves the call still. */
static void undo_reply(struct binder_transaction *t)
{
	static const struct binder_result died = { .ret = BR_DEAD_REPLY, .err = -ESRCH,
						   .why = "the reply was lost" };
	struct binder_thread *thread = t->to_thread;
	struct binder_transaction *top;
	bool back;

	binder_lock(&thread->proc->inner_lock);
	top = thread->stack;
	back = !top || binder_transaction_is_for_racy(top, thread) ||
	       state_is_made_for(t, top, state_left.transactions);
	if (back) {
		t->to_parent = top;
		BINDER_WRITE_ONCE(thread->stack, t);
	}
	binder_unlock(&thread->proc->inner_lock);
	if (!back) {
		binder_transaction_detach(t);
		binder_transaction_fail(t, &died, false);
	}
}

/* The thread of @proc that must serve @t, because it waits for a call that @t was made for. */
static struct binder_thread *waiter_of(struct binder_transaction *t,
				       const struct binder_proc *proc)
{
	struct binder_transaction *outer = t->from_parent;
	struct binder_thread *thread = NULL;
	u32 most = state_left.transactions;

	for (; outer && !thread && most--; outer = outer->from_parent) {
		binder_lock(&outer->lock);
		if (outer->from && outer->from->proc == proc)
			thread = outer->from;
		binder_unlock(&outer->lock);
	}
	return thread;
}

static void undo_delivery(struct binder_transaction *t)
{
	struct binder_proc *proc = t->to_proc;
	struct binder_thread *thread = t->is_reply ? t->to_thread : waiter_of(t, proc);

	binder_lock(&proc->inner_lock);
	if (thread) {
		binder_assert_held(&thread->proc->inner_lock);
		bl_add_head(&thread->todo, &t->work.link);
		binder_thread_set_process_todo_ilocked(thread, true);
		binder_wake_ilocked(proc, thread, false);
	} else {
		bl_add_head(&proc->todo, &t->work.link);
		binder_wake_proc_ilocked(proc);
	}
	binder_unlock(&proc->inner_lock);
}

static void settle_transaction(const struct state_loose *loose)
{
	static const struct binder_result died = { .ret = BR_DEAD_REPLY, .err = -ESRCH,
						   .why = "the receiver died" };
	struct binder_transaction *t = loose->t;

	if (t->to_thread && !t->is_reply)
		undo_reply(t);
	else if (t->to_proc)
		undo_delivery(t);
	else if (loose->buffer)
		undo_send(loose);
	else
		binder_transaction_fail(t, &died, false);
}

static void settle_loose(void)
{
	const struct state_loose *loose = (const void *)state_left.loose.bytes;
	size_t nr = state_left.loose.used / sizeof(*loose), i;

	/* Buffers come first: what fails a call below may need their space. */
	for (i = 0; i < nr; i++) {
		if (loose[i].thread)
			loose[i].thread->freeing = NULL;
		else if (!loose[i].t)
			binder_buffer_release(loose[i].proc, NULL, loose[i].buffer);
	}
	for (i = 0; i < nr; i++) {
		if (loose[i].t)
			settle_transaction(&loose[i]);
	}
}

/* ---- counts -------------------------------------------------------------------------- */

static void settle_node(const struct state_excess *excess)
{
	struct binder_node *node = excess->node;

	binder_node_pin(node);
	binder_lock(&node->lock);
	if (excess->internal_strong)
		node->internal_strong -= excess->internal_strong - 1;
	if (excess->local_strong)
		node->local_strong -= excess->local_strong - 1;
	if (excess->local_weak)
		node->local_weak -= excess->local_weak - 1;
	node->local_pins -= (s32)excess->local_pins;
	host_atomic_add_return(&node->pins, -(s32)excess->pins);
	binder_unlock(&node->lock);
	if (excess->internal_strong)
		binder_node_dec(node, NODE_HANDLE_STRONG);
	if (excess->local_strong)
		binder_node_dec(node, NODE_LOCAL_STRONG);
	if (excess->local_weak)
		binder_node_dec(node, NODE_LOCAL_WEAK);
	binder_node_unpin(node);
}

static void settle_proc(const struct state_excess *excess)
{
	struct binder_proc *proc = excess->proc;

	binder_lock(&proc->inner_lock);
	proc->outstanding_txns -= excess->outstanding - 1;
	binder_proc_txn_end_ilocked(proc);
	binder_unlock(&proc->inner_lock);
}

/* Things that only such a call knew of are gone with it; there are @nr. */
static void settle_stat(const struct binder_stats *sum, u32 kind, u32 nr)
{
	s32 there = host_atomic_read(&sum->created[kind]) - host_atomic_read(&sum->deleted[kind]);

	host_atomic_add(&binder_stats_world.deleted[kind], there - (s32)nr);
}

static void settle_stats(void)
{
	struct binder_stats sum = { { { 0 } } };

	binder_stats_add_up(&sum);
	settle_stat(&sum, STAT_REF, state_left.refs);
	settle_stat(&sum, STAT_TRANSACTION, state_left.transactions);
	settle_stat(&sum, STAT_COMPLETE, state_left.completions);
}

void binder_state_settle(void)
{
	const struct state_excess *excess = (const void *)state_left.excess.bytes;
	size_t nr = state_left.excess.used / sizeof(*excess), i;

	binder_assert_unlocked();
	settle_stats();
	for (i = 0; i < nr; i++) {
		if (excess[i].busy)
			binder_oneway_next(excess[i].node);
	}
	settle_loose();
	for (i = 0; i < nr; i++) {
		if (excess[i].proc)
			settle_proc(&excess[i]);
		else if (state_has_excess_counts(&excess[i]))
			settle_node(&excess[i]);
	}
	state_left_free();
}
