/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report batch: what a report copies of one thread, node or todo list while it holds the
 * lock, to be printed after unlock. A batch has room for REPORT_BATCH_LINES lines; the rest
 * goes to the next batch, for which the lock is taken again and the lines of the batches
 * before are skipped; a transaction stack goes on where it was left.
 *
 * The functions that add to a batch touch no other memory, so they may be called with
 * spinlocks held.
 */
#ifndef BINDER_REPORT_BATCH_H
#define BINDER_REPORT_BATCH_H

#include "entities/node.h"
#include "entities/proc.h"
#include "entities/thread.h"

/* A transaction, as seen from its sender or its receiver. */
struct report_txn {
	u32 id;
	u32 code, flags;
	s32 from_pid, from_tid, to_pid, to_tid;
	s32 prio;
	bool is_async, is_reply;
	u64 start_ns;
	bool received; /* seen from the receiver; what follows is only set then */
	bool has_buffer;
	u32 node;
	size_t data_size, offsets_size, off;
};

enum report_line_kind { LINE_THREAD, LINE_WORK, LINE_STACK };

struct report_line {
	u8 kind;
	u8 work;	  /* LINE_WORK: enum binder_work_type */
	const char *role; /* LINE_STACK: of the thread in the transaction */
	union {
		struct {
			s32 tid;
			u32 looper;
			bool need_return;
			s32 refs;
		} thread;
		struct report_txn txn;
		struct {
			u32 id;
			u64 ptr, cookie;
		} node;
		u32 error;
	};
};

#define REPORT_BATCH_LINES 64

struct report_batch {
	struct report_line lines[REPORT_BATCH_LINES];
	s32 pids[REPORT_BATCH_LINES]; /* the processes that have a reference to a node */
	u32 nr, nr_pids;
	u32 skip, skip_pids; /* how many were in earlier batches */
	bool more;	     /* something did not fit */
	/* The innermost transaction of the stack, the first that did not fit, its line number. */
	const struct binder_transaction *top;
	u32 top_id;
	struct binder_transaction *next;
	u32 next_at;
};

/* Starts the first batch of a thread, node or todo list. */
void report_batch_first(struct report_batch *batch);
/* Starts the next batch of the same one; false if everything was in the batches so far. */
bool report_batch_next(struct report_batch *batch);

/* Adds a thread of @proc: a line for itself, its transaction stack and its work. */
void report_batch_add_thread_ilocked(struct report_batch *batch, struct binder_proc *proc,
				     const struct binder_thread *thread)
	REQUIRES(&proc->inner_lock);
/* Adds the work of @todo, which is the todo list of @proc or of one of its nodes. */
void report_batch_add_works_ilocked(struct report_batch *batch, struct binder_proc *proc,
				    const struct bl_list *todo) REQUIRES(&proc->inner_lock);
/*
 * Adds the processes that have a reference to @node, the newest reference first. Returns
 * the number of references.
 */
u32 report_batch_add_pids_nlocked(struct report_batch *batch, const struct binder_node *node)
	REQUIRES(&node->lock);

#endif
