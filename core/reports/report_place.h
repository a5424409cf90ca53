/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report place: where a report is between two slices. All but the dead node is numbers, so that it
 * can be handed over with the state of the engine (binder_report_write()).
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
	u64 serial; /* the process's, if @in_proc; or else the last one's, and later ones follow */
	bool in_proc;
	u32 step; /* what of the process is printed next */
	bool more; /* the thread, node or list of the last batch has more lines */
	bool line_ended; /* the line of that node has its end */
	s32 tid;
	u64 ptr;
	u32 desc;
	size_t off;
	bool proc_printed;
	bool thread_printed;
	struct report_line thread; /* the heading */
	/* only while a slice is printed */
	struct host_out *out;
	struct binder_proc *proc; /* a reference; NULL: none */
	u32 lines;
	struct report_batch batch;
	struct binder_buffer_info buffers[LIST_BUFFERS];
};

#endif
