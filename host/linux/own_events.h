/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints that the C driver does not have. They are in a trace system of their own, so that
 * `binder` is as tools expect.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM anybinder

#if !defined(HOST_LINUX_OWN_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define HOST_LINUX_OWN_EVENTS_H

#include <linux/ktime.h>
#include <linux/tracepoint.h>

/*
 * The stages of a round trip (core/entities/stage.h). The time is that of the monotonic clock,
 * whatever the clock of the trace, to be compared with timestamps of clients.
 */
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

/*
 * Two priorities: the caller's (policy -1 for a one-way call, which carries none), and the one at
 * which the thread serves the call: a real-time priority for SCHED_FIFO and SCHED_RR, or a nice
 * value.
 */
TRACE_EVENT(binder_priorities,
	TP_PROTO(u32 transaction, int caller_policy, int caller_prio, int policy, int prio),
	TP_ARGS(transaction, caller_policy, caller_prio, policy, prio),
	TP_STRUCT__entry(
		__field(u32, transaction)
		__field(int, caller_policy)
		__field(int, caller_prio)
		__field(int, policy)
		__field(int, prio)
	),
	TP_fast_assign(
		__entry->transaction = transaction;
		__entry->caller_policy = caller_policy;
		__entry->caller_prio = caller_prio;
		__entry->policy = policy;
		__entry->prio = prio;
	),
	TP_printk("transaction=%u caller_policy=%d caller_prio=%d policy=%d prio=%d",
		  __entry->transaction, __entry->caller_policy, __entry->caller_prio,
		  __entry->policy, __entry->prio)
);

/*
 * The first bytes of the data of a transaction (struct host_trace_data), HOST_TRACE_DATA_MAX at
 * most. They are copied only while one of these tracepoints is on.
 */
#define BINDER_DATA_EVENT(name) TRACE_EVENT(name, \
	TP_PROTO(u32 transaction, const u8 *bytes, u32 size, const u8 *objects), \
	TP_ARGS(transaction, bytes, size, objects), \
	TP_STRUCT__entry( \
		__field(u32, transaction) \
		__dynamic_array(u8, objects, DIV_ROUND_UP(size, 32)) \
		__dynamic_array(u8, data, size) \
	), \
	TP_fast_assign( \
		__entry->transaction = transaction; \
		memcpy(__get_dynamic_array(objects), objects, DIV_ROUND_UP(size, 32)); \
		memcpy(__get_dynamic_array(data), bytes, size); \
	), \
	TP_printk("transaction=%u objects=%s data=%s", __entry->transaction, \
		  __print_hex_str(__get_dynamic_array(objects), \
				  __get_dynamic_array_len(objects)), \
		  __print_hex_str(__get_dynamic_array(data), __get_dynamic_array_len(data))) \
)

BINDER_DATA_EVENT(binder_data);
/* The data of a transaction with TF_CLEAR_BUF. */
BINDER_DATA_EVENT(binder_data_to_clear);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE own_events
#include <trace/define_trace.h>
