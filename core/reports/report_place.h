/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report place: where a report is between two slices. All but the dead node is numbers, so that it
 * can be handed over with the state of the engine (state/half_read.c).
 */
#ifndef BINDER_REPORT_PLACE_H
#define BINDER_REPORT_PLACE_H

#include "core.h"
#include "reports/report_batch.h"

#define LIST_BUFFERS 32

struct binder_report {
	enum binder_report_kind kind;
	s32 pid;
	bool begun;
	struct binder_node *dead; /* the last dead node that was printed, pinned; or NULL */
	bool dead_done;
	u64 serial; /* of the process, if @in_proc; else those below follow */
	bool in_proc;
	u32 step; /* of the process */
	bool more; /* of the thread, node or list that the last batch is of */
	bool line_ended; /* of that node */
	s32 tid;
	u64 ptr;
	u32 desc;
	size_t off;
	bool proc_printed;
	bool thread_printed;
	struct report_line thread; /* the heading */
	/* of the present slice */
	struct host_out *out;
	struct binder_proc *proc; /* a reference; NULL: none */
	u32 lines;
	struct report_batch batch;
	struct binder_buffer_info buffers[LIST_BUFFERS];
};

#endif
