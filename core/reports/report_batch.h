/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A batch: what a report notes of one thing (a thread, a node, a todo list)
 * while it holds the thing's lock, to print it when it has let go.  A batch has
 * room for so many lines; what does not fit goes on the next one, for which the
 * lock is taken again and the lines that were noted already are skipped.
 *
 * All of the noting functions are called with the lock of the thing held and
 * touch no memory but the batch's.
 */
#ifndef BINDER_REPORT_BATCH_H
#define BINDER_REPORT_BATCH_H

#include "things/node.h"
#include "things/thread.h"
#include "common/work.h"

struct binder_proc;

/* A transaction as one of its two parties is seen to hold it. */
struct txn_view {
	u32 id;
	u32 code, flags;
	s32 from_pid, from_tid, to_pid, to_tid;
	s32 prio;
	bool need_reply;
	u64 start_ns;
	bool received; /* seen at the receiver, who has its buffer */
	bool has_buffer;
	u32 node;
	size_t data_size, offsets_size, off;
};

enum line_kind { LINE_THREAD, LINE_WORK, LINE_STACK };

struct line {
	u8 kind;
	u8 work;	  /* LINE_WORK: enum binder_work_type */
	const char *word; /* LINE_STACK */
	union {
		struct {
			s32 tid;
			u32 looper;
			bool need_return;
			s32 holders;
		} thread;
		struct txn_view txn;
		struct {
			u32 id;
			u64 ptr, cookie;
		} node;
		u32 error;
	};
};

#define REPORT_BATCH_LINES 64

struct report_batch {
	struct line lines[REPORT_BATCH_LINES];
	s32 pids[REPORT_BATCH_LINES]; /* of those who hold a node */
	u32 nr, nr_pids;
	u32 skip, skip_pids; /* so many were on earlier batches */
	bool more;	     /* there is more than fits */
};

/* Begins with the first line of a thing. */
void report_batch_first(struct report_batch *batch);
/* Begins the next batch of the same thing; false if everything was noted. */
bool report_batch_next(struct report_batch *batch);

/* A thread: itself, its stack of calls, innermost first, and its work.
 * proc->inner_lock. */
void report_batch_note_thread_ilocked(struct report_batch *batch,
				      const struct binder_thread *thread);
/* The works of a list of @proc, its own or that of one of its nodes.
 * proc->inner_lock. */
void report_batch_note_works_ilocked(struct report_batch *batch, const struct bl_list *todo,
			      const struct binder_proc *proc);
/* The processes that hold @node, the last come first.  Returns how many. */
u32 report_batch_note_holders_nlocked(struct report_batch *batch, const struct binder_node *node)
	REQUIRES(&node->lock);

#endif
