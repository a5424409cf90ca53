/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of a pool lock: before taking it, and when it was found taken. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM anybinder_heap

#if !defined(HEAP_HEAP_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define HEAP_HEAP_EVENTS_H

#include <linux/tracepoint.h>

struct pool;
/* In events.c, so that this header need not include pool.h. */
unsigned int heap_event_order(const struct pool *pool);
bool heap_event_uncached(const struct pool *pool);

DECLARE_EVENT_CLASS(heap_pool_lock,
	TP_PROTO(const struct pool *pool, int op),
	TP_ARGS(pool, op),
	TP_STRUCT__entry(
		__field(unsigned int, order)
		__field(bool, uncached)
		__field(int, op)
	),
	TP_fast_assign(
		__entry->order = heap_event_order(pool);
		__entry->uncached = heap_event_uncached(pool);
		__entry->op = op;
	),
	TP_printk("order=%u uncached=%d op=%s", __entry->order, __entry->uncached,
		  __entry->op ? "remove" : "add")
);
DEFINE_EVENT(heap_pool_lock, heap_pool_lock_try,
	     TP_PROTO(const struct pool *pool, int op), TP_ARGS(pool, op));
DEFINE_EVENT(heap_pool_lock, heap_pool_lock_taken,
	     TP_PROTO(const struct pool *pool, int op), TP_ARGS(pool, op));

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE heap_events
#include <trace/define_trace.h>
