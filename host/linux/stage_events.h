/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracepoint that the stock driver does not have: the stages of a round trip
 * (core/things/stage.h). It is in a trace system of its own, so that `binder` is as tools expect.
 * The time is that of the monotonic clock, whatever the clock of the trace, to be compared with
 * timestamps of clients.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM anybinder

#if !defined(HOST_LINUX_STAGE_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define HOST_LINUX_STAGE_EVENTS_H

#include <linux/ktime.h>
#include <linux/tracepoint.h>

TRACE_EVENT(binder_stage,
	TP_PROTO(u32 stage, u32 transaction, u32 reply_to, int proc, int thread),
	TP_ARGS(stage, transaction, reply_to, proc, thread),
	TP_STRUCT__entry(
		__field(u64, time)
		__field(u32, stage)
		__field(u32, transaction)
		__field(u32, reply_to)
		__field(int, proc)
		__field(int, thread)
	),
	TP_fast_assign(
		__entry->time = ktime_get_ns();
		__entry->stage = stage;
		__entry->transaction = transaction;
		__entry->reply_to = reply_to;
		__entry->proc = proc;
		__entry->thread = thread;
	),
	TP_printk("stage=%s time=%llu transaction=%u reply_to=%u proc=%d thread=%d",
		  __print_symbolic(__entry->stage, { 0, "K_IOC" }, { 1, "K_WR_IN" },
				   { 2, "K_ENQ" }, { 3, "K_DEQ" }, { 4, "K_COPY" }),
		  __entry->time, __entry->transaction, __entry->reply_to, __entry->proc,
		  __entry->thread)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE stage_events
#include <trace/define_trace.h>
